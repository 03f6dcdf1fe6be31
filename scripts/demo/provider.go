package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bailing/scripts/demo/business"
	"bailing/scripts/local/stack"
)

// provider lets the hub refresh the order system, as an operator would: it reads the specification from its URL, where only the
// hub may read it, and asks whether the order system refuses a stranger.
func (d *show) provider(ctx context.Context) error {
	fmt.Fprintf(d.w, "\nAn operator lets the hub read the order system's specification from %s\n", d.s.Demo.BusinessURL+business.SpecPath)
	reads, probes := len(d.s.Demo.Business.SpecReads()), len(d.s.Demo.Business.Probes())
	var r struct {
		Tools  int `json:"tools"`
		Access struct {
			Status   string `json:"status"`
			Signed   int    `json:"signed_http"`
			Unsigned int    `json:"unsigned_http"`
			Invalid  int    `json:"invalid_http"`
		} `json:"spec_access_probe"`
		Authz struct {
			Status string `json:"status"`
			Mode   string `json:"mode"`
		} `json:"authz_probe"`
	}
	path := "/admin/api/tool-providers/" + stack.DemoProvider + "/refresh"
	if err := d.admin.call(ctx, http.MethodPost, path, nil, http.StatusOK, &r); err != nil {
		return err
	}
	fmt.Fprintf(d.w, "   The hub refreshed it: %d tools\n", r.Tools)
	fmt.Fprintf(d.w, "     may others read it?      %s: signed %d, unsigned %d, wrong signature %d\n",
		r.Access.Status, r.Access.Signed, r.Access.Unsigned, r.Access.Invalid)
	fmt.Fprintf(d.w, "     is a stranger refused?   %s, asked at the %s endpoint\n", r.Authz.Status, r.Authz.Mode)
	reading := seen(d.s.Demo.Business.SpecReads()[reads:])
	refused := false
	for _, p := range d.s.Demo.Business.Probes()[probes:] {
		refused = !p.Authorized
	}
	if r.Access.Status != "protected" || reading != (readings{true, true, true}) || r.Authz.Status != "pass" || !refused || r.Tools == 0 {
		return errors.New("the hub could not read the specification, or others could, or a stranger was not refused")
	}
	return nil
}

// readings is what became of reads of the specification.
type readings struct{ signedServed, unsignedRefused, wrongRefused bool }

func seen(reads []business.SpecRead) (r readings) {
	for _, read := range reads {
		switch {
		case read.Served:
			r.signedServed = true
		case read.Signed:
			r.wrongRefused = true
		default:
			r.unsignedRefused = true
		}
	}
	return r
}
