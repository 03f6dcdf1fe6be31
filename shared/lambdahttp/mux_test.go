package lambdahttp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bailing/shared/topology"
)

func TestMuxRoutes(t *testing.T) {
	t.Parallel()
	echo := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, name+" "+r.Pattern+" "+r.PathValue("id")+r.PathValue("proxy"))
		}
	}
	h, err := Mux(topology.Function{Name: "f", Routes: []topology.Route{
		{Method: "GET", Path: "/jobs/{id}", Handler: "Job"},
		{Method: "GET", Path: "/schemas/{proxy+}", Handler: "Schema"},
		{Method: "GET", Path: "/health", Handler: "Health"},
		{Method: "HEAD", Path: "/health", Handler: "Health"},
	}}, map[string]http.HandlerFunc{"Job": echo("job"), "Schema": echo("schema"), "Health": echo("health")})
	if err != nil {
		t.Fatal(err)
	}
	const notFound = `{"error":"not found"}`
	cases := []struct {
		name, method, path string
		status             int
		body               string
	}{
		{"a variable", "GET", "/jobs/a%2Fb", 200, "job GET /jobs/{id} a/b"},
		{"the greedy rest", "GET", "/schemas/api/run.json", 200, "schema GET /schemas/{proxy+} api/run.json"},
		{"HEAD where it is listed", "HEAD", "/health", 200, "health HEAD /health "},
		{"HEAD where it is not", "HEAD", "/jobs/7", 404, notFound},
		{"an unknown path", "GET", "/nope", 404, notFound},
		{"an unknown method", "DELETE", "/jobs/7", 404, notFound},
		{"a path is never cleaned", "GET", "//health", 404, notFound},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(tc.method, "http://hub.example"+tc.path, nil))
			if w.Code != tc.status || w.Body.String() != tc.body {
				t.Errorf("answer = %d %q, want %d %q", w.Code, w.Body.String(), tc.status, tc.body)
			}
		})
	}
}

func TestMuxElseAnswersWhatNoRouteTakes(t *testing.T) {
	t.Parallel()
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text+" "+r.Pattern) }
	}
	h, err := MuxElse(topology.Function{Name: "f", Routes: []topology.Route{
		{Method: "GET", Path: "/a", Handler: "A"}, {Method: topology.Any, Path: "/a", Handler: "Other"}, {Method: topology.Any, Path: "/a/{proxy+}", Handler: "Other"},
	}}, map[string]http.HandlerFunc{"A": say("a"), "Other": say("other")}, say("else"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range [][3]string{
		{"GET", "/a", "a GET /a"}, {"PUT", "/a", "other PUT /a"}, {"GET", "/a/b/c", "other GET /a/{proxy+}"}, {"GET", "/a/", "else "}, {"GET", "/b", "else "},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tc[0], "http://hub.example"+tc[1], nil))
		if w.Body.String() != tc[2] {
			t.Errorf("%s %s: %q, want %q", tc[0], tc[1], w.Body.String(), tc[2])
		}
	}
}

func TestMuxWantsExactlyTheHandlersOfItsRoutes(t *testing.T) {
	t.Parallel()
	f := topology.Function{Name: "f", Routes: []topology.Route{{Method: "GET", Path: "/a", Handler: "A"}, {Method: "GET", Path: "/b", Handler: "B"}}}
	nop := func(http.ResponseWriter, *http.Request) {}
	cases := []struct {
		name     string
		handlers map[string]http.HandlerFunc
		want     string
	}{
		{"all", map[string]http.HandlerFunc{"A": nop, "B": nop}, ""},
		{"one missing", map[string]http.HandlerFunc{"A": nop}, "no handler B for GET /b"},
		{"one nil", map[string]http.HandlerFunc{"A": nop, "B": nil}, "no handler B for GET /b"},
		{"one too many", map[string]http.HandlerFunc{"A": nop, "B": nop, "C": nop}, "handler C serves no route"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Mux(f, tc.handlers)
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
		})
	}
}
