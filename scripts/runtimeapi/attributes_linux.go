package runtimeapi

import "syscall"

// attributes keep a terminal's signals away from the process, and let it die with the host: a frozen orphan would stay for ever.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
