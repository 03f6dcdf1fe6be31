package provider

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

func probeCommand() *cli.Command {
	return &cli.Command{
		Name: "probe", Args: "NAME",
		Short: "Lets a hub ask the business whether it refuses a subject without rights.",
		Long: `
A business that checks the hub's signature and not the person in X-Bailing-On-Behalf-Of lets everybody see everything. The hub asks
as a subject that cannot exist; the business should refuse.

  pass          it refused
  suspect       it let the subject in
  inconclusive  its answer says neither
  skipped       there is nothing to ask: declare x-bailing-authz-probe in the specification

Exit status: 0 pass; 1 any other result; 2 wrong usage, no such provider, or no answer.

` + hub.Help,
		New: asking(30*time.Second, func(ctx context.Context, e *cli.Env, h *hub.Hub, name string, asJSON bool) error {
			a, err := h.Ask(ctx, e, http.MethodPost, providerPath(name, "/authz-probe"), nil, "the hub asks "+name)
			if err != nil {
				return about(name, a, err)
			}
			return showProbe(e, a, asJSON)
		}),
	}
}

func showProbe(e *cli.Env, a hub.Answer, asJSON bool) error {
	if a.Status != http.StatusOK {
		return fmt.Errorf("the hub made no probe: %s", a.Reason())
	}
	var p struct {
		AuthzProbe authzProbe `json:"authz_probe"`
	}
	if err := a.Into(&p); err != nil {
		return err
	}
	if asJSON {
		if err := e.JSON(a.Body); err != nil {
			return err
		}
	} else {
		printAuthz(e, &p.AuthzProbe)
	}
	if p.AuthzProbe.Status != "pass" {
		return cli.ErrNotFine
	}
	return nil
}
