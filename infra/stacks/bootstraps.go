package stacks

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"

	"bailing/shared/topology"
)

// CheckBootstraps reports every function of t whose bootstrap below dir is absent or does not run on arm64 Linux. Lambda
// would accept the archive and fail at the first invocation.
func CheckBootstraps(dir string, t topology.Topology) error {
	var errs []error
	for _, f := range t.Functions {
		if err := checkBootstrap(filepath.Join(dir, f.Name, "bootstrap")); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bootstraps are not as `make build` leaves them: %w", err)
	}
	return nil
}

func checkBootstrap(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_AARCH64 || f.Type != elf.ET_EXEC {
		return fmt.Errorf("%s: %s %s %s is no 64-bit executable for arm64", path, f.Class, f.Machine, f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s: it is linked dynamically", path)
		}
	}
	return nil
}
