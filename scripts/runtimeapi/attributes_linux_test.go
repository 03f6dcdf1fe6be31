package runtimeapi

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
)

// A host that is killed cannot close anything. Its processes end all the same: the connection that one holds is cut.
func TestNoProcessOutlivesAKilledHost(t *testing.T) {
	t.Parallel()
	arrived, left := make(chan struct{}), make(chan struct{})
	gate := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	}))
	defer gate.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self, gate.URL+"/")
	host.Env = []string{fakeVariable + "=host"}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	<-arrived
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // killed: there is nothing to learn from its status
	<-left
}
