package runs_test

import (
	"testing"

	"bailing/shared/audience"
	"bailing/shared/contract/contracttest"
	"bailing/shared/job/jobtest"
)

func TestAudienceAndAutoRoutingOnTheWire(t *testing.T) {
	t.Parallel()
	a := open(t)
	for key, p := range map[string]*audience.Policy{
		"refunds": {Keywords: []string{"refund", "both"}}, "returns": {Keywords: []string{"return", "both"}}, "staff": {Audiences: []string{"staff"}},
	} {
		r := jobtest.SupportRoute()
		r.RouteKey, r.Audience = key, p
		a.SaveRoute(r)
	}
	refused := func(body string, status int, want string) {
		t.Helper()
		r := a.run(a.token, body)
		r.want(t, status, want)
		contracttest.ClientAPI(t, "error-response.schema.json", []byte(r.Body))
	}
	refused(`{"request_id":"a","route":"staff","input":"x","metadata":{"uid":"u"}}`, 403,
		`{"error":"route staff does not admit this request","reason":"audience_not_allowed"}`)
	refused(`{"request_id":"b","route":"staff","input":"x"}`, 403, `{"error":"route staff does not admit this request","reason":"route_requires_principal"}`)
	refused(`{"request_id":"c","route":"auto","input":"both"}`, 409, `{"decision":{"mode":"auto","ok":false,"candidates":[`+
		`{"route_key":"refunds","score":11,"reasons":["keywords"]},{"route_key":"returns","score":11,"reasons":["keywords"]}],`+
		`"error":"route_auto_ambiguous"},"error":"route_auto_ambiguous"}`)

	r := a.run(a.token, `{"request_id":"d","route":"auto","input":"I want to return it"}`)
	contracttest.ClientAPI(t, "submit-response.schema.json", []byte(r.Body))
	var got map[string]any
	r.into(t, &got)
	if r.Status != 202 || got["route"] != "returns" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
