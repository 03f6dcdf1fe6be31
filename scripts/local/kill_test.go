package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// childMark makes this test binary act as the program.
const childMark = "BAILING_TEST_AS_LOCAL"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		if err := run(nil, os.Getenv, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child is one life of the program.
type child struct {
	cmd   *exec.Cmd
	url   string
	token string // of the demo client
}

func start(t *testing.T, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMark+"=1", "BAILING_ADDR=127.0.0.1:0", "BAILING_DATA="+dir, "BAILING_SERVER_TOKEN=", "BAILING_DEMO=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	c := &child{cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			c.url = url
		}
		if _, after, ok := strings.Cut(lines.Text(), "Bearer "); ok && c.token == "" {
			c.token, _, _ = strings.Cut(after, "'")
		}
		if strings.HasPrefix(lines.Text(), "Stop with") {
			break
		}
	}
	if c.url == "" || c.token == "" {
		t.Fatalf("the program did not come up: %s", stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the program
	return c
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // killed: there is nothing to learn from its status
}

func (c *child) call(method, path, body string, into any) (int, error) {
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, json.NewDecoder(res.Body).Decode(into)
}

// submitUntilDead submits jobs, two at a time, until the program is gone, and returns the acknowledged ids.
func (c *child) submitUntilDead(life int) []string {
	var (
		mu    sync.Mutex
		acked []string
		wg    sync.WaitGroup
	)
	for lane := range 2 {
		wg.Go(func() {
			for n := 0; ; n++ {
				body := fmt.Sprintf(`{"request_id":"life-%d-%d-%d","route":"order_assistant","input":"Where is order SO-1001?","metadata":{"operator_uid":"u_42","session":"s%d"}}`, life, lane, n, n%7)
				var a struct {
					JobID  string `json:"job_id"`
					Status string `json:"status"`
				}
				status, err := c.call(http.MethodPost, "/run", body, &a)
				if err != nil {
					return
				}
				if status == http.StatusAccepted && a.Status == "queued" {
					mu.Lock()
					acked = append(acked, a.JobID)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return acked
}

// Killed at any moment and started again, the program loses no job that it acknowledged (I5).
func TestKilledAnywhereItLosesNoAcknowledgedJob(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var acked []string
	for life := range 4 {
		c := start(t, dir)
		dead := make(chan struct{})
		time.AfterFunc(time.Duration(100+rand.IntN(500))*time.Millisecond, func() {
			defer close(dead)
			c.kill(t)
		})
		acked = append(acked, c.submitUntilDead(life)...)
		<-dead
	}
	if len(acked) < 4 {
		t.Fatalf("only %d jobs were acknowledged", len(acked))
	}
	c := start(t, dir)
	defer c.kill(t)
	deadline := time.Now().Add(60 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, id := range acked {
		for {
			var v struct {
				Status string `json:"status"`
				Error  string `json:"error"`
			}
			if status, err := c.call(http.MethodGet, "/jobs/"+id, "", &v); err != nil || status != http.StatusOK {
				t.Fatalf("acknowledged job %s: status %d, %v", id, status, err)
			}
			if v.Status == "done" {
				break
			}
			if v.Status == "error" || time.Now().After(deadline) {
				t.Fatalf("acknowledged job %s is %s: %s", id, v.Status, v.Error)
			}
			<-tick.C
		}
	}
	t.Logf("%d acknowledged jobs, all answered after 4 kills", len(acked))
}
