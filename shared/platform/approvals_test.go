package platform_test

import (
	"strings"
	"testing"

	"bailing/shared/platform"
)

func TestWhomTheHubTells(t *testing.T) {
	t.Parallel()
	c, err := platform.FromEnv(env(map[string]string{
		"BAILING_PUBLIC_URL": "https://hub.example/v1/", "BAILING_ALERTS_TYPE": "webhook", "BAILING_ALERTS_URL": "https://ops.example/a?key=1",
	}))
	if err != nil || c.PublicURL != "https://hub.example/v1" || c.AlertsType != "webhook" || c.AlertsURL != "https://ops.example/a?key=1" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := platform.FromEnv(env(map[string]string{"BAILING_ALERTS_TYPE": "wecom", "BAILING_ALERTS_TO": "boss"})); err != nil || c.AlertsTo != "boss" {
		t.Errorf("%+v, %v", c, err)
	}
	for rule, tc := range map[string]struct {
		members map[string]string
		named   string
	}{
		"an address without a scheme":    {map[string]string{"BAILING_PUBLIC_URL": "canary.example"}, "BAILING_PUBLIC_URL"},
		"an address of another scheme":   {map[string]string{"BAILING_PUBLIC_URL": "ftp://canary.example"}, "BAILING_PUBLIC_URL"},
		"an address with a user":         {map[string]string{"BAILING_PUBLIC_URL": "https://canary@hub.example"}, "BAILING_PUBLIC_URL"},
		"an address with a query":        {map[string]string{"BAILING_PUBLIC_URL": "https://hub.example?canary"}, "BAILING_PUBLIC_URL"},
		"a webhook without an address":   {map[string]string{"BAILING_ALERTS_TYPE": "webhook"}, "BAILING_ALERTS_URL"},
		"a webhook with a bad address":   {map[string]string{"BAILING_ALERTS_TYPE": "webhook", "BAILING_ALERTS_URL": "canary"}, "BAILING_ALERTS_URL"},
		"another type without recipient": {map[string]string{"BAILING_ALERTS_TYPE": "wecom"}, "BAILING_ALERTS_TO"},
		"an address without a type":      {map[string]string{"BAILING_ALERTS_URL": "https://ops.example"}, "BAILING_ALERTS_TYPE"},
		"a recipient without a type":     {map[string]string{"BAILING_ALERTS_TO": "canary"}, "BAILING_ALERTS_TYPE"},
	} {
		if _, err := platform.FromEnv(env(tc.members)); err == nil || !strings.Contains(err.Error(), tc.named) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
