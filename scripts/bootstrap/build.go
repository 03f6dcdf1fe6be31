package main

import (
	"archive/zip"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"bailing/shared/topology"
)

const (
	module = "bailing"

	// bare is the function that all others are compared with.
	bare        = "bare"
	barePackage = module + "/scripts/bootstrap/testdata/bare"
)

// buildFlags make the same bytes on every machine, and no more of them than needed.
var buildFlags = []string{"-buildvcs=false", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w -buildid="}

// target is a platform to build for.
type target struct{ os, arch, dir string }

// program is where the target's build of a function is.
func (t target) program(name string) string { return filepath.Join(t.dir, name, "bootstrap") }

// build builds the functions and the bare one.
func (t target) build(ctx context.Context, functions []topology.Function) error {
	if err := t.buildOne(ctx, bare, barePackage); err != nil {
		return err
	}
	for _, f := range functions {
		if err := t.buildOne(ctx, f.Name, module+"/"+f.Package()+"/bootstrap"); err != nil {
			return err
		}
	}
	return nil
}

func (t target) buildOne(ctx context.Context, name, pkg string) error {
	args := append([]string{"build"}, buildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", t.program(name), pkg)...)
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w\n%s", name, t.os, t.arch, err, out)
	}
	return nil
}

// inspect looks at the programs that would be deployed. The first row is the bare function's.
func inspect(t target, functions []topology.Function) ([]row, error) {
	rows := []row{{name: bare}}
	for _, f := range functions {
		rows = append(rows, row{name: f.Name, api: len(f.Routes) > 0})
	}
	for i := range rows {
		program, err := os.ReadFile(t.program(rows[i].name))
		if err != nil {
			return nil, err
		}
		rows[i].elf = checkELF(bytes.NewReader(program))
		if rows[i].zip, err = zipSize(program); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// checkELF says why Lambda could not run a program on arm64: its runtime has no other loader and no libraries to offer.
func checkELF(r io.ReaderAt) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return err
	}
	var errs []error
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_AARCH64 {
		errs = append(errs, fmt.Errorf("it is for %s, %s, not for 64-bit AArch64", f.Machine, f.Class))
	}
	if f.Type != elf.ET_EXEC {
		errs = append(errs, fmt.Errorf("it is %s, no executable at a fixed address", f.Type))
	}
	for _, p := range f.Progs {
		switch p.Type {
		case elf.PT_INTERP:
			errs = append(errs, errors.New("it needs an interpreter"))
		case elf.PT_DYNAMIC:
			errs = append(errs, errors.New("it is linked dynamically"))
		}
	}
	return errors.Join(errs...)
}

// zipSize is the size of the archive that would be uploaded, in bytes.
func zipSize(program []byte) (int64, error) {
	var size counter
	w := zip.NewWriter(&size)
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	h.SetMode(0o755)
	file, err := w.CreateHeader(h)
	if err != nil {
		return 0, err
	}
	_, err = file.Write(program)
	if err := errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	return int64(size), nil
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
