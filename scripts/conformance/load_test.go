package conformance_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

// What the process may hold after a thousand jobs more than before: the hub keeps its rows in memory while it runs, and
// nothing of them afterwards.
const (
	loadClients    = 8
	heapPerJob     = 64 << 10
	heapAfterwards = 16 << 20
	spareWorking   = 100 // connections that stay open between requests have two each
	spareRoutines  = 20
)

// A hub under load answers every job and leaves neither goroutines nor memory behind. The test counts what the process holds, so
// it runs while no other test does.
func TestLoad(t *testing.T) {
	before := held()
	t.Run("a thousand jobs", func(t *testing.T) {
		h := start(t, "", nil)
		h.withModel()
		h.route("chat", nil)
		var tokens []string
		for i := range loadClients {
			tokens = append(tokens, h.client(numbered("app", i), "chat"))
		}
		load(h, tokens, "warm", 5*loadClients)
		idle := held()
		load(h, tokens, "load", loadJobs)
		h.http.CloseIdleConnections()
		settles(t, "after the load", idle.routines+spareWorking, idle.heap+loadJobs*heapPerJob)
	})
	http.DefaultClient.CloseIdleConnections()
	settles(t, "after the hub closed", before.routines+spareRoutines, before.heap+heapAfterwards)
}

// load submits n jobs from all clients at once and waits for every answer.
func load(h *hub, tokens []string, prefix string, n int) {
	h.t.Helper()
	var wg sync.WaitGroup
	for c, token := range tokens {
		wg.Go(func() {
			ids := make(map[string]string, n/len(tokens))
			for i := range n / len(tokens) {
				text := fmt.Sprintf("%s %d of %d", prefix, i, c)
				a := h.post("/run", token, asJSON(h.t, object{"request_id": text, "route": "chat", "input": "[[say " + text + "]]"}))
				id, _ := a.object(h.t)["job_id"].(string)
				if a.status != http.StatusAccepted || id == "" {
					h.t.Errorf("%s: %d %s", text, a.status, cut(a.body))
					continue
				}
				ids[id] = text
			}
			if len(ids) != n/len(tokens) {
				h.t.Errorf("client %d: %d jobs, want %d", c, len(ids), n/len(tokens))
			}
			for id, text := range ids {
				job := h.finished(id, token)
				if result, _ := job["result"].(map[string]any); job["status"] != "done" || result["text"] != text {
					h.t.Errorf("%s: %v %v %v", text, job["status"], job["result"], job["error"])
				}
			}
		})
	}
	wg.Wait()
}

type holding struct {
	routines int
	heap     uint64
}

func held() holding {
	runtime.GC()
	runtime.GC() // what finalizers released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return holding{runtime.NumGoroutine(), m.HeapAlloc}
}

// settles waits until the process holds no more than allowed.
func settles(t *testing.T, when string, routines int, heap uint64) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience / 2)
	for {
		now := held()
		if now.routines <= routines && now.heap <= heap {
			t.Logf("%s: %d goroutines (at most %d), %d KiB heap (at most %d)", when, now.routines, routines, now.heap>>10, heap>>10)
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %d goroutines, at most %d; %d KiB heap, at most %d", when, now.routines, routines, now.heap>>10, heap>>10)
			return
		}
		<-tick.C
	}
}
