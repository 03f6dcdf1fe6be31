package auditchain_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"bailing/shared/auditchain"
	"bailing/shared/canonical"
)

func parse(t testing.TB, text string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(text), canonical.Limits{MaxBytes: 4 << 20, MaxNodes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// export is an export of n records, made in two pages.
func export(t testing.TB, n int) []string {
	t.Helper()
	c := auditchain.New()
	out, err := c.AppendHeader(nil, parse(t, `{"kind":"test"}`))
	for i := range n {
		if i == n/2 && err == nil {
			c, err = auditchain.Resume(c.Seq, c.Prev)
		}
		if err == nil {
			out, err = c.AppendRecord(out, parse(t, fmt.Sprintf(`{"summary":"record %d","event":"e"}`, i)))
		}
	}
	if err == nil {
		out, err = c.AppendTrailer(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
}

func verify(lines []string) (auditchain.Result, error) {
	return auditchain.Verify(strings.NewReader(strings.Join(lines, "") + "\n"))
}

func TestAnExportIsVerified(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 50} {
		lines := export(t, n)
		r, err := verify(lines)
		if err != nil || r.Count != int64(n) {
			t.Errorf("%d records: %d, %v", n, r.Count, err)
		}
		if kind, _ := r.Header.Get("kind"); kind.Text() != "test" {
			t.Errorf("%d records: header %s", n, r.Header.Canonical())
		}
		if !strings.HasPrefix(lines[len(lines)-1], `{"hash":"`+r.Final+`"`) {
			t.Errorf("%d records: final hash %s of %s", n, r.Final, lines[len(lines)-1])
		}
	}
}

// The form of a line is worked out here by hand, so that other programs can rely on it.
func TestTheFormOfALine(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 64)
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	h0 := hash(`{"header":{"kind":"test"},"prev":"` + zeros + `","seq":0}`)
	h1 := hash(`{"prev":"` + h0 + `","record":{"event":"e","summary":"record 0"},"seq":1}`)
	trailer := `"prev":"` + h1 + `","seq":2,"trailer":{"count":1,"final":"` + h1 + `"}}`
	want := `{"hash":"` + h0 + `","header":{"kind":"test"},"prev":"` + zeros + `","seq":0}` + "\n" +
		`{"hash":"` + h1 + `","prev":"` + h0 + `","record":{"event":"e","summary":"record 0"},"seq":1}` + "\n" +
		`{"hash":"` + hash("{"+trailer) + `",` + trailer
	if got := strings.Join(export(t, 1), ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTamperingShowsAtItsLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(lines []string) []string
		line   int64
		reason string
	}{
		{"a changed record", func(l []string) []string { l[3] = strings.Replace(l[3], "record 2", "record 9", 1); return l }, 4, "it was changed"},
		{"a changed header", func(l []string) []string { l[0] = strings.Replace(l[0], "test", "tess", 1); return l }, 1, "it was changed"},
		{"a removed record", func(l []string) []string { return append(l[:3], l[4:]...) }, 4, "number is not 3"},
		{"a removed header", func(l []string) []string { return l[1:] }, 1, "without its header"},
		{"a doubled record", func(l []string) []string { return append(l[:4], append([]string{l[3]}, l[4:]...)...) }, 5, "number is not 4"},
		{"a doubled header", func(l []string) []string { return append([]string{l[0]}, l...) }, 2, "second header"},
		{"two records in another order", func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, 3, "number is not 2"},
		{"no trailer", func(l []string) []string { l[4] = strings.TrimSuffix(l[4], "\n"); return l[:5] }, 6, "without its trailer"},
		{"nothing at all", func([]string) []string { return nil }, 1, "no JSON"},
		{"something behind the end", func(l []string) []string { return append(l, "\n", l[1]) }, 7, "behind the end"},
		{"a line of something else", func(l []string) []string { l[2] = "{\"a\":1}\n"; return l }, 3, "no line of an export"},
		{"no JSON", func(l []string) []string { l[2] = "x\n"; return l }, 3, "no JSON"},
		{"another member", func(l []string) []string { l[2] = strings.Replace(l[2], `{"hash"`, `{"a":1,"hash"`, 1); return l }, 3, "no line of an export"},
		{"white space", func(l []string) []string { l[2] = strings.Replace(l[2], `,"prev"`, `, "prev"`, 1); return l }, 3, "canonical form"},
		{"a record of another export", func(l []string) []string { l[1] = export(t, 9)[2]; return l }, 2, "number is not 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := verify(tc.change(export(t, 4)))
			var broken *auditchain.BrokenError
			if !errors.As(err, &broken) || broken.Line != tc.line || !strings.Contains(broken.Reason, tc.reason) {
				t.Errorf("%v, want line %d: %s", err, tc.line, tc.reason)
			}
		})
	}
}

// A forger who computes the hash of the line that he changed breaks the next one.
func TestAForgedHashBreaksTheNextLine(t *testing.T) {
	t.Parallel()
	lines := export(t, 4)
	c, err := auditchain.Resume(2, prevOf(lines[2]))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := c.AppendRecord(nil, parse(t, `{"summary":"forged"}`))
	if err != nil {
		t.Fatal(err)
	}
	lines[2] = string(forged)
	var broken *auditchain.BrokenError
	if _, err := verify(lines); !errors.As(err, &broken) || broken.Line != 4 {
		t.Errorf("%v", err)
	}
}

func prevOf(line string) string {
	_, rest, _ := strings.Cut(line, `"prev":"`)
	return rest[:64]
}

// Every prefix of an export but the whole is refused, and every change of one byte.
func TestPropertyNothingButTheWholeExportPasses(t *testing.T) {
	t.Parallel()
	whole := strings.Join(export(t, 3), "") + "\n"
	for i := range len(whole) {
		if _, err := auditchain.Verify(strings.NewReader(whole[:i])); err == nil {
			t.Errorf("the first %d bytes pass", i)
		}
		changed := []byte(whole)
		changed[i] ^= 1
		if _, err := auditchain.Verify(bytes.NewReader(changed)); err == nil {
			t.Errorf("byte %d may change", i)
		}
	}
}

func TestALineHasALargestLength(t *testing.T) {
	t.Parallel()
	c := auditchain.New()
	header, err := c.AppendHeader(nil, parse(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	empty, err := func() ([]byte, error) { probe := c; return probe.AppendRecord(nil, parse(t, `{"a":""}`)) }()
	if err != nil {
		t.Fatal(err)
	}
	room := auditchain.LineMax - (len(empty) - 1)
	before := c
	if _, err := c.AppendRecord(nil, parse(t, `{"a":"`+strings.Repeat("x", room+1)+`"}`)); !errors.Is(err, auditchain.ErrTooLong) || c != before {
		t.Errorf("one byte too long: %v, %v", err, c)
	}
	out, err := c.AppendRecord(header, parse(t, `{"a":"`+strings.Repeat("x", room)+`"}`))
	if err == nil {
		out, err = c.AppendTrailer(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := auditchain.Verify(bytes.NewReader(out)); err != nil || r.Count != 1 {
		t.Errorf("%d records, %v", r.Count, err)
	}
	var broken *auditchain.BrokenError
	long := string(header) + strings.Repeat("x", auditchain.LineMax+1) + "\n"
	if _, err := auditchain.Verify(strings.NewReader(long)); !errors.As(err, &broken) || broken.Line != 2 || !strings.Contains(broken.Reason, "longer") {
		t.Errorf("%v", err)
	}
}

func TestAPlaceInAChainIsChecked(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("a", 64)
	if _, err := auditchain.Resume(1, hash); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct {
		seq  int64
		prev string
	}{{0, hash}, {-1, hash}, {1, hash[1:]}, {1, strings.ToUpper(hash)}, {1, ""}} {
		if _, err := auditchain.Resume(bad.seq, bad.prev); err == nil {
			t.Errorf("%v passes", bad)
		}
	}
}

func TestAnErrorOfTheReaderIsNoFinding(t *testing.T) {
	t.Parallel()
	failed := errors.New("disk")
	_, err := auditchain.Verify(io.MultiReader(strings.NewReader(export(t, 1)[0]), iotest.ErrReader(failed)))
	var broken *auditchain.BrokenError
	if !errors.Is(err, failed) || errors.As(err, &broken) {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(strings.Join(export(f, 2), "") + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := auditchain.Verify(bytes.NewReader(in))
		if err == nil && (r.Count != int64(bytes.Count(in, []byte("\n")))-2 || len(r.Final) != 64) {
			t.Errorf("%q holds %d records", in, r.Count)
		}
	})
}
