package stack

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"bailing/shared/awslocal"
	"bailing/shared/awslocal/provision"
	"bailing/shared/topology"
)

// earlierRelease leaves the data directory of a release whose table of jobs was as change makes it.
func earlierRelease(t *testing.T, change func(jobs *topology.Table)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	server, err := awslocal.Open(awslocal.Options{Dir: filepath.Join(dir, "aws")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	endpoint, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	topo := topology.System()
	change(&topo.Tables[slices.IndexFunc(topo.Tables, func(t topology.Table) bool { return t.Name == topology.TableJobs })])
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider("earlier", "secret", ""),
	}
	if _, err := provision.Create(t.Context(), config, topo, prefix); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheDirectoryOfAnEarlierReleaseListsItsJobs(t *testing.T) {
	t.Parallel()
	dir := earlierRelease(t, func(jobs *topology.Table) {
		jobs.Indexes = slices.DeleteFunc(jobs.Indexes, func(i topology.Index) bool { return i.Name == topology.IndexTime })
	})
	for range 2 {
		s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Dir: dir, Manual: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/admin/api/runs", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.ServerToken)
		client := &http.Client{Transport: &http.Transport{}}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
			t.Errorf("the list of jobs: %d", res.StatusCode)
		}
		client.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestADirectoryOfAnotherShapeIsNamedWithWhatToDo(t *testing.T) {
	t.Parallel()
	dir := earlierRelease(t, func(jobs *topology.Table) { jobs.Indexes[0].KeysOnly = !jobs.Indexes[0].KeysOnly })
	_, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Dir: dir, Manual: true})
	if !errors.Is(err, provision.ErrOtherShape) || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "move the data directory away") {
		t.Errorf("%v", err)
	}
}
