package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal is a pair of a terminal and the side at which a person sits.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var number, locked uint32
	for _, call := range []struct {
		request uintptr
		value   *uint32
	}{{syscall.TIOCSPTLCK, &locked}, {syscall.TIOCGPTN, &number}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), call.request, uintptr(unsafe.Pointer(call.value))); errno != 0 {
			t.Skip("no terminals here: ", errno)
		}
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// arrived waits until a terminal has taken what was typed: it decides only then whether it shows it.
func arrived(t *testing.T, program *os.File, n int) {
	t.Helper()
	for range 10_000 {
		var waiting int32
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, program.Fd(), syscall.TIOCINQ, uintptr(unsafe.Pointer(&waiting))); errno != 0 {
			t.Fatal(errno)
		}
		if int(waiting) >= n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("what was typed does not arrive")
}

func TestATerminalDoesNotShowASecret(t *testing.T) {
	t.Parallel()
	person, program := terminal(t)
	if !canAnswer(program) {
		t.Fatal("a terminal is none")
	}
	before, _ := terminalState(program)
	e := &Env{
		Stdin: program, Stderr: program, Interactive: true,
		HideInput: func() (func(), error) { return hideInput(program) },
	}
	if _, err := person.WriteString("ada\n"); err != nil { // typed while it is shown
		t.Fatal(err)
	}
	if name, err := e.Ask(t.Context(), "Username", ""); err != nil || name != "ada" {
		t.Fatalf("%q %v", name, err)
	}
	show, err := hideInput(program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := person.WriteString("s3cret\n"); err != nil {
		t.Fatal(err)
	}
	arrived(t, program, len("s3cret\n"))
	show()
	if secret, err := e.AskSecret(t.Context(), "Password"); err != nil || secret != "s3cret" {
		t.Fatalf("%q %v", secret, err)
	}
	if after, _ := terminalState(program); after != before {
		t.Errorf("the terminal is another one: %+v, was %+v", after, before)
	}
	fmt.Fprintln(program, "end")
	shown := ""
	for seen := bufio.NewReader(person); !strings.HasSuffix(shown, "end\r\n"); {
		b, err := seen.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		shown += string(b)
	}
	if !strings.Contains(shown, "ada") || strings.Contains(shown, "s3cret") {
		t.Errorf("the person saw %q", shown)
	}
}

func TestWhatIsNoTerminalCannotAnswer(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := hideInput(null); err == nil || canAnswer(null) {
		t.Error("the null device is a terminal")
	}
}
