package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a whole test may take; only a browser that hangs needs it.
const patience = 4 * time.Minute

// chromium is the path of the browser. A browser needs a machine for itself, so these tests run where BAILING_BROWSER asks for them.
func chromium(t *testing.T) string {
	t.Helper()
	if os.Getenv("BAILING_BROWSER") != "required" {
		t.Skip("a browser is not asked for; `make browser` runs these tests")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no chromium; `make browser` says how to install it")
	return ""
}

// started is the browser of all tests; each has a profile of its own in it.
var started struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop []context.CancelFunc // in the order of starting
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range slices.Backward(started.stop) {
		stop()
	}
	os.Exit(code)
}

// browser starts the browser with the first test that needs it.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	started.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(patience),
			// Nothing of a test is on the network.
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE ::1"), chromedp.Flag("no-proxy-server", true))
		if os.Getuid() == 0 {
			options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
		}
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		started.stop = append(started.stop, stop)
		started.ctx, stop = chromedp.NewContext(ctx)
		started.stop = append(started.stop, stop)
		started.err = chromedp.Do(started.ctx)
	})
	if started.err != nil {
		t.Fatalf("the browser did not start: %v", started.err)
	}
	return started.ctx
}

// tab is a tab of the browser, with nothing in it.
type tab struct {
	t        *testing.T
	ctx      context.Context
	pictures string // folder, "" for none

	mu      sync.Mutex
	trouble []string      // what the console and the browser's own checks complained about
	changed chan struct{} // holds something after a complaint
}

// openTab opens a tab with a profile of its own.
func openTab(t *testing.T) *tab {
	t.Helper()
	ctx, stop := context.WithTimeout(browser(t), patience)
	t.Cleanup(stop)
	b := newTab(t, ctx, chromedp.WithNewBrowserContext())
	if testing.Verbose() {
		dir, err := os.MkdirTemp("", "consent-")
		if err != nil {
			t.Fatal(err)
		}
		b.pictures = dir
		t.Logf("pictures in %s", dir)
	}
	return b
}

// newTab opens a tab beside the one of the context.
func newTab(t *testing.T, ctx context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	b := &tab{t: t, changed: make(chan struct{}, 1)}
	var stop context.CancelFunc
	b.ctx, stop = chromedp.NewContext(ctx, append(options, chromedp.WithListener(b.listen))...)
	t.Cleanup(stop)
	b.do("start", chromedp.EmulateViewport(1000, 800), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		_, err2 := cdp.Call(ctx, target, audits.Enable, cdp.Empty{})
		return errors.Join(err, err2)
	}))
	return b
}

// listen notes complaints. A status of 4xx or 5xx is one for the console, and what such pages are about.
func (b *tab) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		said = "console: " + string(e.Type)
	case *log.EventEntryAdded:
		status := e.Entry.Source == log.EntrySourceNetwork && strings.Contains(e.Entry.Text, "the server responded with a status of")
		if serious := e.Entry.Level == log.EntryLevelWarning || e.Entry.Level == log.EntryLevelError; serious && !status {
			said = fmt.Sprintf("%s %s: %s", e.Entry.Source, e.Entry.Level, e.Entry.Text)
		}
	case *audits.EventIssueAdded:
		said = "issue: " + string(e.Issue.Code)
	case *page.EventJavascriptDialogOpening:
		said = "dialog: " + e.Message
	}
	if said != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trouble = append(b.trouble, said)
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}
}

// complaints lists them and forgets them.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.trouble
	b.trouble = nil
	return found
}

func (b *tab) wantNoComplaints() {
	b.t.Helper()
	if found := b.complaints(); len(found) != 0 {
		b.t.Errorf("the browser complained: %s", strings.Join(found, "; "))
	}
}

// wantComplaint waits until the browser complained with these words.
func (b *tab) wantComplaint(words string) {
	b.t.Helper()
	for !strings.Contains(strings.Join(b.complaints(), "\n"), words) {
		select {
		case <-b.changed:
		case <-b.ctx.Done():
			b.t.Fatalf("the browser did not complain about %s", words)
		}
	}
}

func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// wantWords waits until the page's heading says something.
func (b *tab) wantHeading(words string) {
	b.t.Helper()
	b.do("heading "+words, chromedp.WaitVisible(fmt.Sprintf(`//h1[contains(., %q)]`, words)))
}

// text is what a person reads in an element.
func (b *tab) text(selector chromedp.CSS) string {
	b.t.Helper()
	s := get(b, chromedp.Text(selector))
	return strings.Join(strings.Fields(s), " ")
}

func (b *tab) wantText(selector chromedp.CSS, want string) {
	b.t.Helper()
	if got := b.text(selector); !strings.Contains(got, want) {
		b.t.Errorf("%s says %q, want %q", selector, got, want)
	}
}

// get is what an action finds.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	found, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// picture keeps what the page looks like, on a desk and on a phone, for whoever runs the test with -v.
func (b *tab) picture(name string) {
	b.t.Helper()
	if b.pictures == "" {
		return
	}
	media := func(features ...*emulation.MediaFeature) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
			return err
		})
	}
	for _, look := range []struct {
		suffix string
		action chromedp.Action[chromedp.Void]
	}{
		{"", media()}, {"-phone", chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile)},
		{"-dark", media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"})},
	} {
		b.do("look"+look.suffix, look.action)
		png := get(b, chromedp.FullScreenshot(100))
		if err := os.WriteFile(filepath.Join(b.pictures, name+look.suffix+".png"), png, 0o600); err != nil {
			b.t.Fatal(err)
		}
		b.do("look again", media(), chromedp.EmulateViewport(1000, 800))
	}
}
