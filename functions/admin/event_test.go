package admin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"bailing/functions/admin"
	"bailing/shared/job/jobtest"
)

// The sample event of events/admin.json through the wired function.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	w.Seed()
	payload, err := os.ReadFile(filepath.Join("..", "..", "events", "admin.json"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := admin.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 200 || !strings.Contains(r.Body, `"route_key":"support"`) {
		t.Errorf("%d %s", r.StatusCode, r.Body)
	}
}
