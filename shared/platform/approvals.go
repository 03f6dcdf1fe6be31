package platform

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"bailing/shared/approval"
	"bailing/shared/approval/notify"
	"bailing/shared/delivery"
	"bailing/shared/store"
)

// readNotices reads where the hub is reached, and whom it tells what no route says (core §6.4, §11.9).
func (c *Config) readNotices(getenv func(string) string) (errs []error) {
	c.PublicURL = strings.TrimRight(getenv("BAILING_PUBLIC_URL"), "/")
	c.AlertsType, c.AlertsURL, c.AlertsTo = getenv("BAILING_ALERTS_TYPE"), getenv("BAILING_ALERTS_URL"), getenv("BAILING_ALERTS_TO")
	for _, v := range []struct{ name, value string }{{"BAILING_PUBLIC_URL", c.PublicURL}, {"BAILING_ALERTS_URL", c.AlertsURL}} {
		if v.value != "" && !isWebAddress(v.value) {
			errs = append(errs, fmt.Errorf("%s is not an http or https address", v.name))
		}
	}
	if u, err := url.Parse(c.PublicURL); err == nil && (u.RawQuery != "" || u.Fragment != "") {
		errs = append(errs, errors.New("BAILING_PUBLIC_URL has a query or a fragment"))
	}
	switch c.AlertsType {
	case notify.BusinessWebhook, notify.ApprovalWebhook, notify.Webhook:
		if c.AlertsURL == "" {
			errs = append(errs, errors.New("BAILING_ALERTS_URL is required for this BAILING_ALERTS_TYPE"))
		}
	case "":
		if c.AlertsURL != "" || c.AlertsTo != "" {
			errs = append(errs, errors.New("BAILING_ALERTS_TYPE is not set, but BAILING_ALERTS_URL or BAILING_ALERTS_TO is"))
		}
	default:
		if c.AlertsTo == "" {
			errs = append(errs, errors.New("BAILING_ALERTS_TO is required for this BAILING_ALERTS_TYPE"))
		}
	}
	return errs
}

func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
}

// Clerk records decisions about approvals.
func (p *Platform) Clerk(s *store.Store) *approval.Clerk {
	return &approval.Clerk{Store: s, Queue: p.JobsQueue(), Waits: p.Waits(), Clock: p.Clock, Logger: p.Logger}
}

// Keeper holds the waits of approvals, and tells those who may decide.
func (p *Platform) Keeper(s *store.Store) (*approval.Keeper, error) {
	teller, err := p.teller(s)
	if err != nil {
		return nil, err
	}
	return &approval.Keeper{Store: s, Waits: p.Waits(), Teller: teller, Clock: p.Clock, Logger: p.Logger}, nil
}

func (p *Platform) teller(s *store.Store) (*notify.Teller, error) {
	sealer, err := p.Sealer()
	if err != nil {
		return nil, err
	}
	http, err := p.Outbound()
	if err != nil {
		return nil, err
	}
	return &notify.Teller{
		Routes: s.Routes(), Log: s, Secrets: sealer,
		Post:   &delivery.Poster{Clients: s.Clients(), Secrets: sealer, HTTP: http, ServerToken: p.Config.ServerToken, Clock: p.Clock},
		Alerts: notify.Target{Type: p.Config.AlertsType, URL: p.Config.AlertsURL}, BaseURL: p.Config.PublicURL,
		Clock: p.Clock, Logger: p.Logger,
	}, nil
}
