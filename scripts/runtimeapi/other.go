//go:build !unix

package runtimeapi

import (
	"os"
	"syscall"
)

// Processes cannot be frozen here; everything else holds.
func freeze(*os.Process) {}

func thaw(*os.Process) {}

func attributes() *syscall.SysProcAttr { return nil }
