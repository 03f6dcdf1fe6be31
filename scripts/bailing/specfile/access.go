package specfile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/outbound"
	"bailing/shared/provider"
	"bailing/shared/registry"
	"bailing/shared/signature"
)

const (
	timestampHeader = "X-Bailing-Timestamp"
	signatureHeader = "X-Bailing-Signature"
)

// Status says who can read a specification, as a hub records it (core §4.2).
type Status = registry.AccessStatus

// The statuses.
const (
	Protected    = registry.AccessProtected    // signed reads only
	Public       = registry.AccessPublic       // others can read it, too
	Inconclusive = registry.AccessInconclusive // the other reads were neither served nor refused
)

// Access is what the three reads of a signed document found.
type Access struct {
	Status       Status `json:"status"`
	SignedHTTP   int    `json:"signed_http"`
	UnsignedHTTP int    `json:"unsigned_http,omitempty"` // 0: no answer
	InvalidHTTP  int    `json:"invalid_http,omitempty"`  // 0: no answer
	Reason       string `json:"reason,omitempty"`
	// Uncached says that the answer forbids caches to keep it.
	Uncached     bool   `json:"uncached"`
	CacheControl string `json:"cache_control"`
}

// fetcher sends the reads of one URL.
type fetcher struct {
	net     cli.Sender
	url     string
	timeout time.Duration
}

func (f fetcher) get(ctx context.Context, h http.Header, max int64) (*outbound.Response, error) {
	return f.net.Do(ctx, outbound.Request{Method: http.MethodGet, URL: f.url, Header: h, Timeout: f.timeout, MaxResponse: max})
}

func signedHeaders(h signature.Headers) http.Header {
	return http.Header{timestampHeader: {h.Timestamp}, signatureHeader: {h.Signature}}
}

// judge makes the two reads that must be refused: without a signature, and with a wrong one at the same time of signing.
func (f fetcher) judge(ctx context.Context, timestamp string, signed *outbound.Response) *Access {
	var statuses [2]int
	var errs [2]error
	var wait sync.WaitGroup
	wrong := signature.Headers{Timestamp: timestamp, Signature: "sha256=" + strings.Repeat("0", 64)}
	for i, h := range []http.Header{nil, signedHeaders(wrong)} {
		wait.Go(func() { statuses[i], errs[i] = f.status(ctx, h) })
	}
	wait.Wait()
	a := &Access{SignedHTTP: signed.Status, UnsignedHTTP: statuses[0], InvalidHTTP: statuses[1]}
	a.CacheControl = strings.Join(signed.Header.Values("Cache-Control"), ", ")
	a.Uncached = provider.Uncached(signed.Header)
	a.Status, a.Reason = verdict(statuses, errs)
	return a
}

// status is the status of a read whose body nobody wants.
func (f fetcher) status(ctx context.Context, h http.Header) (int, error) {
	res, err := f.get(ctx, h, 1)
	var failed *outbound.Error
	switch {
	case err == nil:
		return res.Status, nil
	case errors.As(err, &failed):
		return failed.Status, err
	}
	return 0, err
}

// verdict is the hub's own rule, and what its author should know about it.
func verdict(statuses [2]int, errs [2]error) (Status, string) {
	names := [2]string{"an unsigned read", "a read with a wrong signature"}
	access := provider.Access(statuses[0], statuses[1])
	for i, status := range statuses {
		switch {
		case access == Public && status >= 200 && status < 300:
			return access, names[i] + " is served as well"
		case access != Inconclusive || provider.Refused(status):
		case status != 0:
			return access, fmt.Sprintf("%s is answered with status %d", names[i], status)
		case errs[i] != nil:
			return access, names[i] + " got no answer: " + plain(errs[i])
		}
	}
	return access, ""
}
