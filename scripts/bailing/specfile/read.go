package specfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/capability/compile"
	"bailing/shared/outbound"
	"bailing/shared/signature"
)

// Options say how a source is read.
type Options struct {
	Secret  string        // signs reads of URLs; "" reads unsigned
	Judge   bool          // make two more reads of a URL, to see who may read it without the secret
	Timeout time.Duration // of one request
}

// Document is what was read.
type Document struct {
	Name   string // as messages call it
	Bytes  []byte
	Access *Access // how a URL protects the document; nil unless it was judged
}

// IsURL reports whether a source is a URL.
func IsURL(source string) bool {
	lower := strings.ToLower(source)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// Read reads a file, "-" for standard input, or a URL; at most [compile.MaxDocumentBytes], which is what a hub reads.
func Read(ctx context.Context, e *cli.Env, source string, o Options) (*Document, error) {
	switch {
	case IsURL(source):
		return readURL(ctx, e, source, o)
	case source == "-":
		b, err := readAll(ctx, e.Stdin, "stdin")
		return &Document{Name: "stdin", Bytes: b}, err
	}
	f, err := e.Open(source)
	if err != nil {
		return nil, fileError(source, err)
	}
	defer f.Close()
	b, err := readAll(ctx, f, source)
	return &Document{Name: source, Bytes: b}, err
}

// fileError says what is wrong with a file, without repeating its name.
func fileError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// readAll reads up to the limit. A read from a terminal or a pipe may never come back, so an interrupt does not wait for it; the
// process ends then.
func readAll(ctx context.Context, r io.Reader, name string) ([]byte, error) {
	type result struct {
		bytes []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(r, compile.MaxDocumentBytes+1))
		done <- result{b, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-done:
		switch {
		case got.err != nil:
			return nil, fileError(name, got.err)
		case len(got.bytes) > compile.MaxDocumentBytes:
			return nil, tooLarge(name)
		}
		return got.bytes, nil
	}
}

func tooLarge(name string) error {
	return &cli.HintError{
		Err:  fmt.Errorf("%s: larger than %d MiB", name, compile.MaxDocumentBytes>>20),
		Hint: "A hub reads no more. Split the specification, or leave out what no tool needs.",
	}
}

// readURL reads as a hub does: signed when there is a secret, and then, if asked to, twice more to see who else may read.
func readURL(ctx context.Context, e *cli.Env, url string, o Options) (*Document, error) {
	path, err := outbound.RequestPath(url)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	defer e.Progress("reading %s", url)()
	f := fetcher{net: e.Net, url: url, timeout: o.Timeout}
	var headers http.Header
	if o.Secret != "" {
		headers = signedHeaders(signature.SignTool(o.Secret, signature.SpecFetch(path), e.Clock.Now()))
	}
	res, err := f.get(ctx, headers, compile.MaxDocumentBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", url, plain(err))
	}
	if err := refusal(url, res, o.Secret != ""); err != nil {
		return nil, err
	}
	if res.Truncated {
		return nil, tooLarge(url)
	}
	d := &Document{Name: url, Bytes: res.Body}
	if o.Secret != "" && o.Judge {
		d.Access = f.judge(ctx, headers.Get(timestampHeader), res)
	}
	return d, nil
}

// refusal is the error of an answer that holds no document.
func refusal(url string, res *outbound.Response, signed bool) error {
	if res.Status >= 200 && res.Status < 300 {
		return nil
	}
	err := fmt.Errorf("%s: the answer is status %d", url, res.Status)
	switch {
	case res.Status >= 300 && res.Status < 400:
		return &cli.HintError{Err: err, Hint: "Redirects are not followed, by a hub neither: give the final address."}
	case (res.Status == 401 || res.Status == 403 || res.Status == 404) && !signed:
		return &cli.HintError{Err: err, Hint: "If the document is for signed reads only, " +
			"name the variable that holds the provider's secret: --secret-env NAME."}
	case res.Status == 401 || res.Status == 403:
		return &cli.HintError{Err: err, Hint: "The signed read was refused. Compare the secret, the clocks (less than 300 s apart), " +
			"and the path: the signature covers path and query of the URL as they are sent, so a proxy must not rewrite them."}
	}
	return err
}

// plain is the text of an error of the client, without its own name.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "outbound: ") }
