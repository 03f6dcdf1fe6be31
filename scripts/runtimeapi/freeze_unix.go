//go:build unix

package runtimeapi

import (
	"os"
	"syscall"
)

// freeze stops the process where it is; thaw lets it go on. Both take effect without its help.
func freeze(p *os.Process) { signal(p, syscall.SIGSTOP) }

func thaw(p *os.Process) { signal(p, syscall.SIGCONT) }
