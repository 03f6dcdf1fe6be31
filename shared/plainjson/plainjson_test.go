package plainjson_test

import (
	"encoding/json"
	"testing"

	"bailing/shared/plainjson"
)

func TestMarkUpAndRawJSONStayAsTheyAre(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"b":"<&>","a":1.50,"n":12345678901234567890}`)
	got, err := plainjson.Marshal(map[string]any{"raw": raw, "text": "<b>&</b>"})
	if want := `{"raw":{"b":"<&>","a":1.50,"n":12345678901234567890},"text":"<b>&</b>"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := plainjson.Marshal(func() {}); err == nil {
		t.Error("a function is JSON")
	}
}
