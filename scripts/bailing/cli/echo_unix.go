//go:build linux || darwin

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalState reads how a terminal treats input; false when f is none.
func terminalState(f *os.File) (state syscall.Termios, ok bool) {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), getTermios, uintptr(unsafe.Pointer(&state)))
	return state, errno == 0
}

// canAnswer reports whether somebody at a terminal can answer questions through f.
func canAnswer(f *os.File) bool {
	_, ok := terminalState(f)
	return ok
}

// hideInput makes the terminal behind f stop showing what is typed; restore makes it as it was.
func hideInput(f *os.File) (restore func(), err error) {
	before, ok := terminalState(f)
	if !ok {
		return nil, syscall.ENOTTY
	}
	hidden := before
	hidden.Lflag &^= syscall.ECHO
	hidden.Lflag |= syscall.ICANON | syscall.ISIG
	if err := setTerminalState(f, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = setTerminalState(f, &before) }, nil
}

func setTerminalState(f *os.File, state *syscall.Termios) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), setTermios, uintptr(unsafe.Pointer(state))); errno != 0 {
		return errno
	}
	return nil
}
