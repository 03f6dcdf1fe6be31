package conformance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// call is a request as the business got it.
type call struct {
	at          time.Time
	method, uri string
	header      http.Header
	body        string
	signed      bool // the signature fits the received path
}

// business plays the recorded business: it answers as the recordings show and keeps every request by its job.
type business struct {
	url    string
	secret string
	hang   chan struct{} // closed at the end
	published

	mu    sync.Mutex
	calls map[string][]call
}

func startBusiness(t testing.TB, secret string) *business {
	b := &business{secret: secret, hang: make(chan struct{}), calls: map[string][]call{}}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(b.hang) }) // before the server waits for its requests
	b.url = s.URL
	return b
}

// of returns the requests of one job in their order.
func (b *business) of(job string) []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[job]
}

func (b *business) total() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, calls := range b.calls {
		n += len(calls)
	}
	return n
}

// signature is the tool-call signature of core §3.1, written from the specification alone.
func signature(secret, timestamp, method, uri, body, subject, job string) string {
	sum := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, strings.Join([]string{timestamp, method, uri, hex.EncodeToString(sum[:]), subject, job}, "."))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (b *business) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h := r.Header
	told := strings.HasPrefix(r.RequestURI, "/cb/") || r.RequestURI == "/deliver" || r.RequestURI == "/approvals"
	job := h.Get("X-Bailing-Job-Id")
	if told {
		job = jobIn(body)
	}
	c := call{at: time.Now(), method: r.Method, uri: r.RequestURI, header: h, body: string(body)}
	c.signed = h.Get("X-Bailing-Signature") == signature(b.secret, h.Get("X-Bailing-Timestamp"), r.Method, r.RequestURI,
		c.body, h.Get("X-Bailing-On-Behalf-Of"), job)
	if strings.HasPrefix(r.RequestURI, "/.well-known/") {
		b.published.serve(w, r, c)
		return
	}
	b.mu.Lock()
	b.calls[job] = append(b.calls[job], c)
	n := len(b.calls[job])
	b.mu.Unlock()
	if told {
		receive(w, r, n)
		return
	}
	if !c.signed {
		reply(w, http.StatusUnauthorized, `{"error":"bad signature"}`)
		return
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	switch item, isItem := strings.CutPrefix(path, "/items/"); {
	case isItem:
		id, _ := url.PathUnescape(item)
		name, _ := json.Marshal(id)
		reply(w, http.StatusOK, `{"id":`+string(name)+`,"name":"Widget","stock":7}`)
	case path == "/boom", path == "/fail-write":
		reply(w, http.StatusInternalServerError, `{"error":"boom","code":"E_BOOM"}`)
	case path == "/html":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<!doctype html><html><body>Bad gateway page</body></html>")
	case path == "/pay":
		reply(w, http.StatusAccepted, `{"ok":true,"path":"/pay","got":`+c.body+`}`)
	case path == "/big":
		reply(w, http.StatusOK, `{"data":"`+strings.Repeat("x", 20_000)+`"}`)
	case strings.HasPrefix(path, "/hang"):
		select {
		case <-b.hang:
		case <-r.Context().Done():
		}
	case strings.HasPrefix(path, "/reset"):
		hangUp(w)
	default:
		got := c.body
		if got == "" {
			got = "null"
		}
		reply(w, http.StatusOK, `{"ok":true,"path":"`+path+`","got":`+got+`}`)
	}
}

// receive answers the n-th message about a job as the recorded receiver did.
func receive(w http.ResponseWriter, r *http.Request, n int) {
	switch behaviour := strings.TrimPrefix(r.RequestURI, "/cb/"); {
	case behaviour == "500", behaviour == "500once" && n == 1:
		reply(w, http.StatusInternalServerError, `{"error":"boom"}`)
	case behaviour == "429once" && n == 1:
		reply(w, http.StatusTooManyRequests, `{"error":"slow down"}`)
	case behaviour == "400":
		reply(w, http.StatusBadRequest, `{"error":"bad request"}`)
	case behaviour == "redirect302":
		http.Redirect(w, r, "/cb/ok?from=302", http.StatusFound)
	case behaviour == "redirect307":
		http.Redirect(w, r, "/cb/ok?from=307", http.StatusTemporaryRedirect)
	case behaviour == "reset":
		hangUp(w)
	default:
		reply(w, http.StatusOK, `{"ok":true}`)
	}
}

// jobIn is the job that a message is about, "" when it does not say.
func jobIn(body []byte) string {
	var message struct {
		JobID string `json:"job_id"`
	}
	_ = json.Unmarshal(body, &message)
	return message.JobID
}

func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}
