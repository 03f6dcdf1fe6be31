package platform_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"bailing/shared/envelope"
	"bailing/shared/platform"
)

// keyService answers as KMS does. It remembers what it was asked.
type keyService struct {
	refuse string // code of the error that Decrypt answers with, "" for none
	asked  []map[string]any
}

func (k *keyService) Do(r *http.Request) (*http.Response, error) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	k.asked = append(k.asked, in)
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	status, body := http.StatusOK, fmt.Sprintf(`{"Plaintext":%q,"CiphertextBlob":%q,"KeyId":"key"}`, key, key)
	if k.refuse != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Decrypt") {
		status, body = http.StatusBadRequest, fmt.Sprintf(`{"__type":%q}`, k.refuse)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// sealer is a new process over k: it has no data key in memory.
func sealer(t *testing.T, k *keyService) *envelope.Envelope {
	t.Helper()
	c := platform.Config{Region: "eu-central-1", AccessKey: "a", SecretKey: "s", KMSKey: "key"}
	s, err := platform.New("f", c, platform.Options{HTTP: k}).Sealer()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKMSIsGivenTheRecordAsContext(t *testing.T) {
	t.Parallel()
	k := &keyService{}
	place := envelope.Context{Kind: "client", ID: "acme", Field: "token"}
	sealed, err := sealer(t, k).Seal(t.Context(), []byte("clear"), place)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sealer(t, k).Open(t.Context(), sealed, place); err != nil || string(got) != "clear" {
		t.Errorf("%s, %v", got, err)
	}
	for i, in := range k.asked {
		if got, want := fmt.Sprint(in["EncryptionContext"]), fmt.Sprint(place.Map()); got != want || in["KeyId"] != "key" {
			t.Errorf("request %d: key %v, context %v, want %v", i, in["KeyId"], got, want)
		}
	}
}

// A data key that is not ours will not open later either; everything else may pass.
func TestWhatKMSRefuses(t *testing.T) {
	t.Parallel()
	place := envelope.Context{Kind: "client", ID: "acme", Field: "token"}
	for code, want := range map[string]error{
		"InvalidCiphertextException": envelope.ErrTampered, "IncorrectKeyException": envelope.ErrTampered,
		"AccessDeniedException": envelope.ErrKeyUnavailable, "KMSInvalidStateException": envelope.ErrKeyUnavailable,
	} {
		k := &keyService{}
		sealed, err := sealer(t, k).Seal(t.Context(), []byte("clear"), place)
		if err != nil {
			t.Fatal(err)
		}
		k.refuse = code
		if _, err := sealer(t, k).Open(t.Context(), sealed, place); !errors.Is(err, want) || errors.Is(err, envelope.ErrTampered) != (want == envelope.ErrTampered) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
	}
}
