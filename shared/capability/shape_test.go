package capability_test

import (
	"strings"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

func TestShapingVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Vectors []struct {
			ID          string
			HTTP        int
			ContentType string `json:"content_type"`
			BodyLen     int    `json:"body_len"`
			OK          bool
			TextLen     int `json:"text_len"`
		} `json:"tool_response_shaping"`
	}
	readJSON(t, "testdata/tool_response_shaping.json", &file)
	if len(file.Vectors) != 7 {
		t.Fatalf("%d vectors, want 7", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			got := capability.ShapeResult(v.HTTP, v.ContentType, []byte(strings.Repeat("x", v.BodyLen)))
			if got.OK != v.OK || textlimit.Len(got.Text) != v.TextLen {
				t.Errorf("ok %v, %d units (%.60q), want %v, %d", got.OK, textlimit.Len(got.Text), got.Text, v.OK, v.TextLen)
			}
		})
	}
}

func TestShapeResult(t *testing.T) {
	t.Parallel()
	page := "<!DOCTYPE html><title>x</title>"
	cases := []struct {
		rule   string
		status int
		media  string
		body   string
		text   string
		ok     bool
	}{
		{"a 2xx body is passed on", 201, "application/json", `{"a":1}`, `{"a":1}`, true},
		{"an empty answer names its status", 204, "", "", "HTTP 204 empty", true},
		{"an empty error names its status", 503, "", "", "HTTP 503 empty", false},
		{"an error begins with its status", 404, "application/json", `{"error":"x"}`, "HTTP 404\n" + `{"error":"x"}`, false},
		{"a redirect is not ok", 302, "", "moved", "HTTP 302\nmoved", false},
		{"an error page is summed up", 502, "text/html; charset=utf-8", page, "HTTP 502\nHTML page of 31 characters, left out.", false},
		{"an undeclared error page too", 502, "", "\n" + page, "HTTP 502\nHTML page of 32 characters, left out.", false},
		{"a page with status 200 is data", 200, "text/html", page, page, true},
		{"mark-up in JSON is not a page", 500, "application/json", page, "HTTP 500\n" + page, false},
		{"a byte order mark is not text", 200, "", "\xEF\xBB\xBFa", "a", true},
		{"bytes that are not UTF-8 are replaced", 200, "", "a\xffb", "a\uFFFDb", true},
		{"8192 units fit", 200, "", strings.Repeat("é", 8192), strings.Repeat("é", 8192), true},
		{"8193 are cut", 200, "", strings.Repeat("é", 8193), strings.Repeat("é", 8192), true},
		{"a pair at the limit is left out whole", 200, "", strings.Repeat("a", 8191) + "😀", strings.Repeat("a", 8191), true},
		{"an error is cut after 2048 units", 500, "", strings.Repeat("中", 2049), "HTTP 500\n" + strings.Repeat("中", 2048), false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := capability.ShapeResult(c.status, c.media, []byte(c.body)); got.Text != c.text || got.OK != c.ok {
				t.Errorf("%v %.80q", got.OK, got.Text)
			}
		})
	}
}
