//go:build linux || darwin

package cli

import (
	"syscall"
	"unsafe"
)

// terminalWidth asks the terminal behind a descriptor for its columns; 0 when it does not say.
func terminalWidth(fd uintptr) int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
