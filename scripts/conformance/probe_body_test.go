package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The cap on bodies is exact; past what a function can be given, the gateway refuses by itself (core §0.1, D20).
func TestBodySizes(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	const mib = 1 << 20
	for _, tc := range []struct {
		size, status int
		ours         bool // the answer is the contract's, not the platform's
	}{
		{mib, 202, true}, {mib + 1, 413, true}, {2 * mib, 413, true}, {4 * mib, 413, true}, {5 * mib, 413, false}, {10 * mib, 413, false}, {10*mib + 1, 413, false},
	} {
		a := p.post("/run", p.token, p.body(numbered("size", tc.size), tc.size))
		if a.status != tc.status {
			t.Errorf("%d bytes: %d, want %d: %s", tc.size, a.status, tc.status, cut(a.body))
			continue
		}
		if tc.ours && tc.status == 413 {
			wantHeaders(t, a)
			if o := a.object(t); o["error"] != "payload too large" || fmt.Sprint(o["max_bytes"]) != "1048576" {
				t.Errorf("%d bytes: %v", tc.size, o)
			}
		}
	}
	// Nobody learns about limits, or about JSON, without a token.
	for _, body := range []string{p.body("anonymous", mib+1), "{", "[1]"} {
		wantError(t, p.do(http.MethodPost, "/run", body), 401, "unauthorized")
	}
	// A specification has a cap of its own (D32).
	wantError(t, p.post("/admin/api/tool-providers", p.admin, `{"pad":"`+strings.Repeat("p", 4*mib)+`"}`), 413, "payload too large")
	if a := p.post("/admin/api/tool-providers", p.admin, `{"pad":"`+strings.Repeat("p", 2*mib)+`"}`); a.status != 400 {
		t.Errorf("2 MiB for a provider: %d", a.status)
	}
	// What was accepted is whole.
	o := p.submit(p.token, object{"request_id": "whole", "route": "park", "input": "x", "metadata": object{"pad": strings.Repeat("é", 400_000)}})
	got := p.get("/jobs/"+o["job_id"].(string), p.token).object(t)["metadata"].(map[string]any)
	if got["pad"] != strings.Repeat("é", 400_000) {
		t.Error("a large member of the metadata came back changed")
	}
}

func TestBodiesThatAreNotStrictJSON(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	valid := `{"request_id":"strict","route":"park","input":"x"}`
	for _, body := range []string{
		"{", "nonsense", "null", `"text"`, "7", "[]", "true", `{"request_id":"strict","route":"park","input":"x",}`, valid + "{}", valid + "x", "\ufeff" + valid,
		`{"request_id":"strict","request_id":"other","route":"park","input":"x"}`, `{"request_id":"strict","route":"park","input":"x","metadata":{"a":1,"\u0061":2}}`,
		"{\"request_id\":\"strict\",\"route\":\"park\",\"input\":\"\xff\"}", "{\"request_id\":\"strict\",\"route\":\"park\",\"input\":\"a\nb\"}",
		`{'request_id':'strict'}`, `{"request_id":"strict","route":"park","input":"x","metadata":{"n":NaN}}`, `{"request_id":"strict","route":"park","input":"x","metadata":{"n":01}}`,
		`{"request_id":"strict","route":"park","input":"x","metadata":{"n":1e999}}`, `{"request_id":"strict","route":"park","input":"\ud83d\u"}`,
		"// c\n" + valid, strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 100_000), strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000),
	} {
		a := p.post("/run", p.token, body)
		if a.status != http.StatusBadRequest {
			t.Errorf("%.60q: %d %s", body, a.status, cut(a.body))
			continue
		}
		wantHeaders(t, a)
		if text, _ := a.object(t)["error"].(string); text == "" || strings.Contains(text, "strict") {
			t.Errorf("%.60q: error %q", body, text)
		}
	}
	if o := p.submit(p.token, object{"request_id": "strict", "route": "park", "input": "x"}); o["session_id"] == nil {
		t.Errorf("one of the malformed bodies became a job: %v", o)
	}
}

// JSON may nest 128 deep.
func TestNesting(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	nested := func(depth int) string { // the body and its metadata are two of them
		return strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2)
	}
	body := func(id string, depth int) string {
		return fmt.Sprintf(`{"request_id":%q,"route":"park","input":"x","metadata":{"deep":%s}}`, id, nested(depth))
	}
	a := p.post("/run", p.token, body("at", 128))
	if a.status != http.StatusAccepted {
		t.Fatalf("depth 128: %d %s", a.status, cut(a.body))
	}
	got := p.get("/jobs/"+a.object(t)["job_id"].(string), p.token)
	if !bytes.Contains(got.body, []byte(`"metadata":{"deep":`+nested(128)+`}`)) {
		t.Errorf("metadata came back changed: %s", got.body)
	}
	wantError(t, p.post("/run", p.token, body("past", 129)), 400, "")
}

// Characters are UTF-16 units: one outside the basic plane counts twice.
func TestTextLimits(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	const astral = "😀"
	n := 0
	run := func(member, value string) answer {
		n++
		o := object{"request_id": numbered("text", n), "route": "park", "input": "x"}
		o[member] = value
		return p.post("/run", p.token, asJSON(t, o))
	}
	for _, tc := range []struct {
		name, member, value string
		ok                  bool
	}{
		{"input at the limit", "input", strings.Repeat(astral, 50_000), true},
		{"input one past it", "input", strings.Repeat(astral, 50_000) + "a", false},
		{"input of 100,000 such characters", "input", strings.Repeat(astral, 100_000), false},
		{"input of 100,000 characters of three bytes", "input", strings.Repeat("本", 100_000), true},
		{"request id at the limit", "request_id", strings.Repeat(astral, 64), true},
		{"request id one past it", "request_id", strings.Repeat(astral, 64) + "a", false},
		{"request id of blanks", "request_id", "\u3000\u00a0\t\n", false},
		{"input of blanks", "input", "\u2028 \ufeff", false},
	} {
		a := run(tc.member, tc.value)
		if tc.ok != (a.status == http.StatusAccepted) || (!tc.ok && a.status != http.StatusBadRequest) {
			t.Errorf("%s: %d %s", tc.name, a.status, cut(a.body))
		}
	}
	// A preview never cuts a character in two.
	a := run("input", "a"+strings.Repeat(astral, 200))
	job := p.get("/jobs/"+a.object(t)["job_id"].(string), p.token).object(t)
	if want := "a" + strings.Repeat(astral, 99); job["input_preview"] != want {
		t.Errorf("preview %q, want 199 units", job["input_preview"])
	}
}

// A surrogate without its partner is no text: it is refused where the hub stores text, and kept as it is in metadata.
func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	p.route("sessions", object{"target": "parked", "target_config": object{}, "session_policy": "per_key", "session_key_field": "k"})
	token := p.client("chat", "sessions")
	for _, body := range []string{
		`{"request_id":"\ud800","route":"park","input":"x"}`, `{"request_id":"a\udc00","route":"park","input":"x"}`,
		`{"request_id":"s","route":"park","input":"\ud800"}`, `{"request_id":"s","route":"park","input":"\ude00\ud83d"}`,
		`{"request_id":"s","route":"park","input":"x","callback_url":"https://x.example/\ud800"}`, `{"request_id":"s","route":"\ud800","input":"x"}`,
	} {
		wantError(t, p.post("/run", p.token, body), 400, "")
	}
	sent := []string{`{"k":"\ud800"}`, `{"k":"\ud801"}`, `{"k":"\ufffd"}`, `{"k":"\udc00x"}`, `{"\ud800":1,"\udbff":2}`}
	sessions := map[any]string{}
	for i, metadata := range sent {
		a := p.post("/run", token, fmt.Sprintf(`{"request_id":"meta-%d","route":"sessions","input":"x","metadata":%s}`, i, metadata))
		if a.status == http.StatusBadRequest {
			continue
		}
		if a.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", metadata, a.status, cut(a.body))
			continue
		}
		o := a.object(t)
		if other, taken := sessions[o["session_id"]]; taken {
			t.Errorf("%s and %s share a session", metadata, other)
		}
		sessions[o["session_id"]] = metadata
		// Compared as bytes: decoders replace what is no text.
		var job struct{ Metadata json.RawMessage }
		if err := json.Unmarshal(p.get("/jobs/"+o["job_id"].(string), token).body, &job); err != nil {
			t.Error(err)
		}
		want := strings.ReplaceAll(metadata, `\ufffd`, "\ufffd")
		if string(job.Metadata) != want {
			t.Errorf("metadata %s came back as %s", metadata, job.Metadata)
		}
	}
	// And they are told apart in a replay (D3).
	for i, metadata := range sent[:2] {
		o := p.post("/run", p.token, `{"request_id":"replay","route":"park","input":"x","metadata":`+metadata+`}`).object(t)
		if mismatch := o["payload_mismatch"] == true; mismatch != (i == 1) {
			t.Errorf("replay %d: %v", i, o)
		}
	}
}

func TestControlCharactersSurvive(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	text := "a\u0000b\u001f\u007f\u2028\u2029</script>&\"\\"
	o := object{"request_id": text, "route": "park", "input": text, "metadata": object{text: text}}
	created := p.submit(p.token, o)
	job := p.get("/jobs/"+created["job_id"].(string), p.token).object(t)
	if job["request_id"] != text || job["input_preview"] != text || job["metadata"].(map[string]any)[text] != text {
		t.Errorf("%q", job)
	}
	again := p.submit(p.token, o)
	if again["job_id"] != created["job_id"] || again["payload_mismatch"] != nil {
		t.Errorf("a replay: %v", again)
	}
	wantError(t, p.post("/run", p.token, `{"request_id":"n","route":"park\u0000","input":"x"}`), 400, "")
}

// Metadata is the client's: every digit of a number and the order of members come back.
func TestNumbersInMetadata(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	metadata := `{"z":9007199254740993,"y":-9007199254740995,"x":123456789012345678901234567890123456789012345678901234567890,"b":18446744073709551616,"a":[9007199254740993,{"n":9223372036854775808}],"f":0.1,"t":true,"u":null}`
	a := p.post("/run", p.token, `{"request_id":"n","route":"park","input":"x","metadata":`+metadata+`}`)
	if a.status != http.StatusAccepted {
		t.Fatalf("%d %s", a.status, cut(a.body))
	}
	got := p.get("/jobs/"+a.object(t)["job_id"].(string), p.token)
	if !bytes.Contains(got.body, []byte(`"metadata":`+metadata+`,`)) {
		t.Errorf("metadata came back as %s", got.body)
	}
	// One digit tells two payloads apart (D3, D16).
	other := strings.Replace(metadata, "740993,", "740992,", 1)
	if o := p.post("/run", p.token, `{"request_id":"n","route":"park","input":"x","metadata":`+other+`}`).object(t); o["payload_mismatch"] != true {
		t.Errorf("another number: %v", o)
	}
}
