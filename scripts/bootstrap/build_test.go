package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// program is a 64-bit ELF file that holds nothing but its headers.
func program(t *testing.T, machine elf.Machine, kind elf.Type, segments ...elf.ProgType) []byte {
	t.Helper()
	const headerSize, segmentSize = 64, 56
	h := elf.Header64{
		Type: uint16(kind), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Phoff: headerSize,
		Ehsize: headerSize, Phentsize: segmentSize, Phnum: uint16(len(segments)),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	parts := []any{h}
	for _, s := range segments {
		parts = append(parts, elf.Prog64{Type: uint32(s)})
	}
	for _, p := range parts {
		if err := binary.Write(&b, binary.LittleEndian, p); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestWhatRunsOnLambdasARM(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		program []byte
		want    string
	}{
		{"static, for AArch64", program(t, elf.EM_AARCH64, elf.ET_EXEC, elf.PT_LOAD), ""},
		{"for another machine", program(t, elf.EM_X86_64, elf.ET_EXEC, elf.PT_LOAD), "it is for EM_X86_64, ELFCLASS64, not for 64-bit AArch64"},
		{"with an interpreter", program(t, elf.EM_AARCH64, elf.ET_EXEC, elf.PT_INTERP), "it needs an interpreter"},
		{"with libraries", program(t, elf.EM_AARCH64, elf.ET_EXEC, elf.PT_DYNAMIC), "it is linked dynamically"},
		{"a library", program(t, elf.EM_AARCH64, elf.ET_DYN, elf.PT_LOAD), "it is ET_DYN, no executable at a fixed address"},
		{"a script", []byte("#!/bin/sh\nexit 0\n"), "bad magic number '[35 33 47 98]' in record at byte 0x0"},
		{"nothing", nil, "EOF"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := checkELF(bytes.NewReader(tc.program)); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestAnArchiveIsMeasuredWhole(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 100_000)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise) // never fails
	// What cannot be compressed is all there, with less than a kilobyte around it.
	if n, err := zipSize(noise); err != nil || n < 100_000 || n > 101_000 {
		t.Errorf("noise of 100,000 bytes: %d, %v", n, err)
	}
	if n, err := zipSize(make([]byte, 100_000)); err != nil || n > 1_000 {
		t.Errorf("100,000 zero bytes: %d, %v", n, err)
	}
}

// The flags of a deployment really make what a deployment needs, on any machine.
func TestTheBuildMakesADeployableProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it cross-compiles")
	}
	t.Parallel()
	deployed := target{"linux", "arm64", t.TempDir()}
	if err := deployed.build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	rows, err := inspect(deployed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].elf != nil || rows[0].zip == 0 {
		t.Errorf("%+v", rows)
	}
	native := target{runtime.GOOS, runtime.GOARCH, t.TempDir()}
	if err := native.build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	took, err := start(t.Context(), native, bare, nil)
	if err != nil || took <= 0 || took > time.Minute {
		t.Errorf("started in %s, %v", took, err)
	}
}

// What is measured here is what `make build` makes for a deployment.
func TestTheFlagsAreThoseOfADeployment(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	n := len(buildFlags) - 1
	flags := "GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build " + strings.Join(buildFlags[:n], " ") + " '" + buildFlags[n] + "'"
	if !strings.Contains(string(makefile), flags) {
		t.Errorf("the Makefile does not build with %s", flags)
	}
}
