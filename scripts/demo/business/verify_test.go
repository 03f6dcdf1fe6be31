package business

import (
	_ "embed"
	"encoding/json"
	"testing"
	"time"
)

//go:embed testdata/signatures.json
var vectorFile []byte

type vectors struct {
	Secret string `json:"secret"`
	Tools  []struct {
		ID         string `json:"id"`
		At         int64  `json:"timestamp_sec"`
		Method     string `json:"method"`
		Path       string `json:"path_with_query"`
		Body       string `json:"body"`
		OnBehalfOf string `json:"on_behalf_of"`
		JobID      string `json:"job_id"`
		Signature  string `json:"signature"`
	} `json:"tool_signatures"`
	Callbacks []struct {
		ID        string `json:"id"`
		At        int64  `json:"timestamp_ms"`
		Body      string `json:"raw_body"`
		Signature string `json:"signature"`
	} `json:"callback_signatures"`
}

func load(t *testing.T) vectors {
	t.Helper()
	var v vectors
	if err := json.Unmarshal(vectorFile, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Tools) != 12 || len(v.Callbacks) != 3 {
		t.Fatalf("%d and %d vectors", len(v.Tools), len(v.Callbacks))
	}
	return v
}

func number(n int64) string { b, _ := json.Marshal(n); return string(b) }

func TestTheToolVectorsVerify(t *testing.T) {
	t.Parallel()
	v := load(t)
	for _, c := range v.Tools {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			s := signed{c.Method, c.Path, []byte(c.Body), c.OnBehalfOf, c.JobID}
			now := time.Unix(c.At, 0)
			check := func(what string, want bool, secret string, s signed, timestamp, signature string, now time.Time) {
				t.Helper()
				if got := verifyTool(secret, s, timestamp, signature, now); got != want {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			ts := number(c.At)
			check("as signed", true, v.Secret, s, ts, c.Signature, now)
			check("299 s late", true, v.Secret, s, ts, c.Signature, now.Add(window-time.Second))
			check("299 s early", true, v.Secret, s, ts, c.Signature, now.Add(-window+time.Second))
			check("300 s late", false, v.Secret, s, ts, c.Signature, now.Add(window))
			check("300 s early", false, v.Secret, s, ts, c.Signature, now.Add(-window))
			check("another secret", false, v.Secret+"x", s, ts, c.Signature, now)
			check("no secret", false, "", s, ts, c.Signature, now)
			check("no signature", false, v.Secret, s, ts, "", now)
			check("no prefix", false, v.Secret, s, ts, c.Signature[len("sha256="):], now)
			check("another second", false, v.Secret, s, number(c.At+1), c.Signature, now)
			for what, change := range map[string]func(*signed){
				"another method":  func(s *signed) { s.method = "PUT" },
				"another path":    func(s *signed) { s.pathWithQuery += "x" },
				"another body":    func(s *signed) { s.body = append([]byte("x"), s.body...) },
				"another subject": func(s *signed) { s.onBehalfOf += "x" },
				"another job":     func(s *signed) { s.jobID += "x" },
			} {
				changed := s
				change(&changed)
				check(what, false, v.Secret, changed, ts, c.Signature, now)
			}
		})
	}
}

func TestTheCallbackVectorsVerify(t *testing.T) {
	t.Parallel()
	v := load(t)
	for _, c := range v.Callbacks {
		now := time.UnixMilli(c.At)
		for _, tc := range []struct {
			what string
			body string
			now  time.Time
			want bool
		}{
			{"as signed", c.Body, now, true},
			{"299.999 s late", c.Body, now.Add(window - time.Millisecond), true},
			{"300 s late", c.Body, now.Add(window), false},
			{"300 s early", c.Body, now.Add(-window), false},
			{"another body", c.Body + " ", now, false},
		} {
			if got := verifyCallback(v.Secret, []byte(tc.body), number(c.At), c.Signature, tc.now); got != tc.want {
				t.Errorf("%s, %s: %v", c.ID, tc.what, got)
			}
		}
	}
}

func TestTimestampsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "+1760000000", "01760000000", "1760000000.0", " 1760000000", "-1", "1e9", "99999999999999999999"} {
		if _, ok := digits(s); ok {
			t.Errorf("%q was read", s)
		}
	}
}

func FuzzVerifyTool(f *testing.F) {
	f.Add("secret", "GET", "/a?b=c", []byte("{}"), "1760000000", "sha256=00")
	f.Fuzz(func(t *testing.T, secret, method, path string, body []byte, timestamp, signature string) {
		if verifyTool(secret, signed{method, path, body, "", ""}, timestamp, signature, time.Unix(1_760_000_000, 0)) {
			t.Error("a signature was guessed")
		}
	})
}
