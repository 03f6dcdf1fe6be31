package stacks_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/infra/stacks"
	"bailing/shared/topology"
)

// Everything that a synthesis writes is a function of its inputs, or each deployment would show changes that are none.
func TestTwoSynthesesAreIdentical(t *testing.T) {
	t.Parallel()
	first, second := synth(t, topology.System(), stacks.DefaultOptions()), synth(t, topology.System(), stacks.DefaultOptions())
	files := 0
	err := filepath.WalkDir(first.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		inside, err := filepath.Rel(first.dir, path)
		if err != nil {
			return err
		}
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(second.dir, inside))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", inside, err)
		}
		return nil
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}

// CloudFormation takes 500 resources and a megabyte; there must be room for what comes.
func TestStacksStaySmall(t *testing.T) {
	t.Parallel()
	a := product(t)
	for name, tpl := range map[string]*template{"stateful": a.stateful, "stateless": a.stateless} {
		t.Logf("%s: %d resources, %d bytes", name, len(tpl.Resources), tpl.size)
		if len(tpl.Resources) >= 300 || tpl.size >= 1_000_000 {
			t.Errorf("%s: %d resources, %d bytes", name, len(tpl.Resources), tpl.size)
		}
	}
	// A REST API may have 300 resources.
	if n := len(a.stateless.of("AWS::ApiGateway::Resource")); n >= 300 {
		t.Errorf("%d resources of the API", n)
	}
}

func TestATopologyWithAFaultIsRefused(t *testing.T) {
	t.Parallel()
	system := topology.System()
	system.Queues[0].Visibility = 0
	o := stacks.DefaultOptions()
	o.BuildDir = "build"
	if err := stacks.Build(nil, system, o); err == nil || !strings.Contains(err.Error(), "topology") {
		t.Errorf("err = %v", err)
	}
}

// executable is the head of a program for a machine, which is all that the check reads.
func executable(machine elf.Machine, kind elf.Type, programs ...elf.Prog64) []byte {
	h := elf.Header64{
		Type: uint16(kind), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: uint16(len(programs)),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	for _, part := range []any{h, programs} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func TestBootstrapsMustRunOnLambda(t *testing.T) {
	t.Parallel()
	system := topology.Topology{Functions: []topology.Function{{Name: "one"}}}
	for rule, tc := range map[string]struct {
		content []byte // nil = no file
		want    string // "" = accepted
	}{
		"there must be one":            {nil, "no such file"},
		"a stub is none":               {[]byte("one"), "EOF"},
		"a script is none":             {[]byte("#!/bin/sh\n" + strings.Repeat("#", 100)), "bad magic"},
		"the build machine's own":      {executable(elf.EM_X86_64, elf.ET_EXEC), "EM_X86_64"},
		"a shared library":             {executable(elf.EM_AARCH64, elf.ET_DYN), "ET_DYN"},
		"one that needs a C library":   {executable(elf.EM_AARCH64, elf.ET_EXEC, elf.Prog64{Type: uint32(elf.PT_INTERP)}), "dynamically"},
		"a static program for arm64":   {executable(elf.EM_AARCH64, elf.ET_EXEC, elf.Prog64{Type: uint32(elf.PT_LOAD)}), ""},
		"a program of no segments too": {executable(elf.EM_AARCH64, elf.ET_EXEC), ""},
	} {
		dir := t.TempDir()
		if tc.content != nil {
			if err := os.Mkdir(filepath.Join(dir, "one"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "one", "bootstrap"), tc.content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		err := stacks.CheckBootstraps(dir, system)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", rule, err, tc.want)
		}
	}
}
