package operate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"bailing/scripts/bailing/cli"
)

// An export to a file is written to FILE.part and gets its name once it is whole. Beside it FILE.part.json says where it stands after
// each page, so that it can go on: what was written of a page behind it is cut off.

// standing is where an export to a file stands.
type standing struct {
	URL   string `json:"url"`
	Query string `json:"query"` // of the first page
	Next  string `json:"next"`  // and of the next one
	Bytes int64  `json:"bytes"`
}

func (x *auditExport) toFile(ctx context.Context, name string, resume bool) (err error) {
	part, state := name+".part", name+".part.json"
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists; it is not overwritten", name)
	}
	flags := os.O_RDWR | os.O_CREATE
	if !resume {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(part, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &cli.HintError{Err: fmt.Errorf("%s exists: an export to %s was interrupted", part, name), Hint: "Go on with --resume, or delete it."}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s := standing{URL: x.hub.URL, Query: x.from}
	if resume {
		if s, err = x.resume(f, state); err != nil {
			return err
		}
	}
	x.out = f
	x.written = func(page int) error {
		s.Next, s.Bytes = x.next, s.Bytes+int64(page)
		text, err := json.Marshal(s)
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = cli.WriteFile(state, text)
		}
		return err
	}
	if x.verifier.Ended() { // it lacked its name only
		err = x.end()
	} else {
		err = x.run(ctx)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(part, name); err != nil {
		return err
	}
	return os.Remove(state)
}

// resume brings the file and the chain to where the export stands.
func (x *auditExport) resume(f *os.File, state string) (s standing, err error) {
	text, err := os.ReadFile(state)
	if errors.Is(err, fs.ErrNotExist) { // no page was finished
		return standing{URL: x.hub.URL, Query: x.from}, f.Truncate(0)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("%s: %w", state, err)
	case s.URL != x.hub.URL || s.Query != x.from:
		return s, fmt.Errorf("the export that was interrupted is another one: %s of %s", auditPath+s.Query, s.URL)
	}
	if err := f.Truncate(s.Bytes); err != nil {
		return s, err
	}
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err == nil {
			err = x.verifier.Line(line[:len(line)-1])
		}
		if err != nil {
			return s, fmt.Errorf("%s was changed: %w", f.Name(), err)
		}
	}
	x.next = s.Next
	return s, nil
}
