package platform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bailing/shared/clock"
	"bailing/shared/platform"
)

const canary = "q7w8e9r0t1y2u3i4"

// token has a form that is recognised without its name.
const token = "sk-" + canary + "o5p6"

func TestLogsShowNoSecret(t *testing.T) {
	t.Parallel()
	type record struct {
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	for rule, log := range map[string]func(*slog.Logger){
		"a member called token":           func(l *slog.Logger) { l.Info("x", "token", canary) },
		"in any case and spelling":        func(l *slog.Logger) { l.Info("x", "X-Api-Key", canary) },
		"as part of a name":               func(l *slog.Logger) { l.Info("x", "provider_secret_text", canary) },
		"authorization":                   func(l *slog.Logger) { l.Info("x", "Authorization", []string{canary}) },
		"cookie":                          func(l *slog.Logger) { l.Info("x", "set-cookie", []byte(canary)) },
		"an error under such a name":      func(l *slog.Logger) { l.Info("x", "credential", errors.New(canary)) },
		"inside a group":                  func(l *slog.Logger) { l.Info("x", slog.Group("g", "pwd", canary)) },
		"a group with such a name":        func(l *slog.Logger) { l.Info("x", slog.Group("credential", "value", canary)) },
		"a logger's own attribute":        func(l *slog.Logger) { l.With("secret", canary).Info("x") },
		"a logger's own group":            func(l *slog.Logger) { l.WithGroup("secret").Info("x", "v", canary) },
		"a bearer token in a text":        func(l *slog.Logger) { l.Info("x", "header", "Bearer "+canary) },
		"a key in a text":                 func(l *slog.Logger) { l.Info("x", "text", "the key "+token+" is wrong") },
		"a key in an error":               func(l *slog.Logger) { l.Info("x", "error", fmt.Errorf("call: %w", errors.New(token))) },
		"a key in the message":            func(l *slog.Logger) { l.Info("refused " + token) },
		"a key in a list":                 func(l *slog.Logger) { l.Info("x", "list", []string{"a", token}) },
		"a member of a map":               func(l *slog.Logger) { l.Info("x", "map", map[string]string{"api_key": canary}) },
		"a member of a struct":            func(l *slog.Logger) { l.Info("x", "record", record{"n", canary}) },
		"a member with quotation marks":   func(l *slog.Logger) { l.Info("x", "record", record{"n", `a"` + canary + `"`}) },
		"a value that hides until logged": func(l *slog.Logger) { l.Info("x", "v", valuer{}) },
	} {
		var b bytes.Buffer
		log(platform.NewLogger(&b, slog.LevelDebug))
		if strings.Contains(b.String(), canary) {
			t.Errorf("%s: %s", rule, b.String())
		}
		if !strings.Contains(b.String(), "REDACTED") || !json.Valid(b.Bytes()) {
			t.Errorf("%s: %s", rule, b.String())
		}
	}
}

type valuer struct{}

func (valuer) LogValue() slog.Value { return slog.StringValue(token) }

func TestLogsShowTheRest(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := platform.NewLogger(&b, slog.LevelInfo)
	l.Debug("below the level")
	l.Info("job claimed", "job_id", "fde28e3e-23c0-490e-9b51-ea880b1c3c87", "tokens", 12, "has_secret", true, "took", 5*time.Millisecond, "list", []string{"a"})
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, b.String())
	}
	if line["msg"] != "job claimed" || line["job_id"] != "fde28e3e-23c0-490e-9b51-ea880b1c3c87" || line["tokens"] != 12.0 || line["has_secret"] != true {
		t.Errorf("%v", line)
	}
	if list, ok := line["list"].([]any); !ok || len(list) != 1 {
		t.Errorf("list %v", line["list"])
	}
}

func TestMetricIsOneEmbeddedLine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	at := time.UnixMilli(1_782_907_200_123)
	m := platform.NewMetrics(&b, clock.NewManual(at), "runs")
	m.Count("http_requests", 1, "route", "/run", "status", "2xx")
	want := `{"_aws":{"CloudWatchMetrics":[{"Namespace":"Bailing","Dimensions":[["function","route","status"]],` +
		`"Metrics":[{"Name":"http_requests","Unit":"Count"}]}],"Timestamp":1782907200123},` +
		`"function":"runs","http_requests":1,"route":"/run","status":"2xx"}` + "\n"
	if b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
	b.Reset()
	m.Duration("job_run", 1500*time.Microsecond)
	if !strings.Contains(b.String(), `"Unit":"Milliseconds"`) || !strings.Contains(b.String(), `"job_run":1.5`) || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%s", b.String())
	}
}

func TestLogsAndMetricsShareOneOutput(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := platform.New("jobworker", platform.Config{}, platform.Options{Output: &b, Clock: clock.NewManual(time.UnixMilli(0))})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			p.Metrics.Count("n", 1)
		}
	}()
	for range 100 {
		p.Logger.Info("line")
	}
	<-done
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 200 {
		t.Fatalf("%d lines, want 200", len(lines))
	}
	for _, line := range lines {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil || members["function"] != "jobworker" {
			t.Fatalf("%v: %s", err, line)
		}
	}
}
