//go:build unix && !linux

package runtimeapi

import "syscall"

// attributes keep a terminal's signals away from the process.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
