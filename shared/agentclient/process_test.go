//go:build unix

package agentclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bailing/shared/agentclient/agentclienttest"
)

// Variables of the environment that make the test binary a process of a test.
const (
	helperFile = "BAILING_AGENT_HELPER_FILE" // of the store
	helperDies = "BAILING_AGENT_HELPER_DIES" // "before" the request, or "after" the answer
)

func TestMain(m *testing.M) {
	if name := os.Getenv(helperFile); name != "" {
		help(name, os.Getenv(helperDies))
		return
	}
	os.Exit(m.Run())
}

// help asks for a token with several goroutines at once for each line that comes, and answers with a line of the tokens.
func help(name, dies string) {
	c := &Client{Store: NewFileStore(name)}
	if dies != "" {
		c.Store = &dying{c.Store, dies}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		got := make([]string, 4)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				token, err := c.AccessToken(context.Background())
				if err != nil {
					token = strings.ReplaceAll(fmt.Sprintf("error:%v", err), " ", "_")
				}
				got[i] = token
			})
		}
		wg.Wait()
		fmt.Println(strings.Join(got, " "))
	}
}

// dying is a store whose process is killed in the middle of a refresh.
type dying struct {
	Store
	when string
}

func (d *dying) Save(ctx context.Context, k *Credentials) error {
	answered := k.RefreshStarted == nil
	if answered && d.when == "after" {
		kill()
	}
	err := d.Store.Save(ctx, k)
	if !answered && d.when == "before" {
		kill()
	}
	return err
}

func kill() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// process is a running helper.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProcess(t *testing.T, file, dies string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperFile+"="+file, helperDies+"="+dies)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return p
}

func (p *process) ask() error {
	_, err := io.WriteString(p.in, "go\n")
	return err
}

func (p *process) tokens() ([]string, error) {
	line, err := p.out.ReadString('\n')
	return strings.Fields(line), err
}

// rounds is how often a race is run: 20 times, or as BAILING_AGENT_ROUNDS says.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BAILING_AGENT_ROUNDS")
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BAILING_AGENT_ROUNDS is %q", text)
	}
	return n
}

// Processes that find the access token expired at once refresh it once: the hub sees each refresh token one time, and all of them go
// on with the same session.
func TestProcessesRefreshOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client.Clock = nil // the processes have the machine's
	k := b.session()
	k.RefreshExpiresAt = time.Now().Add(24 * time.Hour)
	b.save(t, k)
	processes := make([]*process, 6)
	for i := range processes {
		processes[i] = startProcess(t, b.store.Name(), "")
	}
	for round := range rounds(t) {
		k := b.stored(t)
		k.AccessExpiresAt, k.RenewAt = time.Now().Add(-time.Minute), time.Now().Add(-2*time.Minute)
		b.save(t, k)
		for _, p := range processes {
			if err := p.ask(); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		for _, p := range processes {
			tokens, err := p.tokens()
			if err != nil || len(tokens) != 4 {
				t.Fatalf("round %d: %q %v", round, tokens, err)
			}
			for _, token := range tokens {
				if want == "" {
					want = token
				}
				if token != want || token == k.AccessToken || !strings.HasPrefix(token, accessPrefix) {
					t.Fatalf("round %d: %q, want %q", round, token, want)
				}
			}
		}
		if presented := b.hub.Presented(); len(presented) != round+1 || presented[k.RefreshToken] != 1 || b.hub.Alive() != 1 {
			t.Fatalf("round %d: the hub saw %v, %d sessions", round, presented, b.hub.Alive())
		}
	}
	for _, n := range b.hub.Presented() {
		if n != 1 {
			t.Errorf("a refresh token was presented %d times", n)
		}
	}
}

// crash lets a process die in a refresh; its lock dies with it.
func crash(t *testing.T, dies string) *bench {
	t.Helper()
	b := setup(t)
	b.client.Clock = nil
	k := b.session()
	k.RenewAt = time.Now().Add(-time.Minute)
	b.save(t, k)
	p := startProcess(t, b.store.Name(), dies)
	if err := p.ask(); err != nil {
		t.Fatal(err)
	}
	if tokens, err := p.tokens(); err != io.EOF {
		t.Fatalf("the process lives: %q %v", tokens, err)
	}
	if got := b.stored(t); got.RefreshStarted == nil || got.RefreshToken != k.RefreshToken {
		t.Fatalf("%+v", got)
	}
	return b
}

// A process that dies between the answer and the write takes the session with it; the next one says so.
func TestAProcessThatDiesAfterTheAnswerLosesTheSession(t *testing.T) {
	t.Parallel()
	b := crash(t, "after")
	if len(b.hub.Asked(agentclienttest.Token)) != 1 || b.hub.Alive() != 1 {
		t.Fatal("the process did not refresh")
	}
	if _, err := b.client.AccessToken(t.Context()); !is(err, ErrSessionLost) || !strings.Contains(err.Error(), "log in again") {
		t.Error(err)
	}
	if _, err := b.store.Load(t.Context()); !is(err, ErrNotLoggedIn) || b.hub.Alive() != 0 {
		t.Errorf("%v, %d sessions", err, b.hub.Alive())
	}
}

// One that dies before it has asked costs nothing.
func TestAProcessThatDiesBeforeTheRequestLosesNothing(t *testing.T) {
	t.Parallel()
	b := crash(t, "before")
	if len(b.hub.Asked(agentclienttest.Token)) != 0 {
		t.Fatal("the process asked")
	}
	access, err := b.client.AccessToken(t.Context())
	if err != nil || access != b.stored(t).AccessToken || b.hub.Alive() != 1 || b.stored(t).RefreshStarted != nil {
		t.Error(err)
	}
	for _, n := range b.hub.Presented() {
		if n != 1 {
			t.Errorf("the token was presented %d times", n)
		}
	}
}
