package toolcall_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
)

func TestAuditOfACall(t *testing.T) {
	t.Parallel()
	c := open(t, `{"user":"u-1"}`)
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		// The record is there before the request leaves.
		if n := len(c.Events(c.job.ID, "tool_call")); n != 1 {
			t.Errorf("%d records while the request is on its way", n)
		}
		return jobtest.Response(200, `{"price":5}`), nil
	})
	c.invoke("price_check", `{"sku":"a","count":2}`)
	call := c.Events(c.job.ID, "tool_call")[0]
	want := map[string]any{
		"provider": "shop", "tool": "price_check", "scope": "prices.check", "method": "PUT", "path": "/prices", "on_behalf_of": "u-1",
		"signature_scheme": "sha256=", "idempotency_key": nil, "args": map[string]any{"sku": "a", "count": 2.0}, "args_bytes": 21.0,
	}
	if !reflect.DeepEqual(call.Detail, want) || call.Stage != "tool" || call.Severity != "info" {
		t.Errorf("call %+v, want %v", call, want)
	}
	result := c.Events(c.job.ID, "tool_result")[0]
	want = map[string]any{
		"tool": "price_check", "status": 200.0, "ok": true, "duration_ms": 0.0, "idempotency_key": nil, "governance_state": "executed",
		"resp": `{"price":5}`, "resp_bytes": 11.0,
	}
	if !reflect.DeepEqual(result.Detail, want) {
		t.Errorf("result %v, want %v", result.Detail, want)
	}
}

// Without a subject the audit says null.
func TestAuditWithoutASubject(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.invoke("order_get", `{"id":"1"}`)
	d := c.Events(c.job.ID, "tool_call")[0].Detail
	if v, present := d["on_behalf_of"]; !present || v != nil {
		t.Errorf("on_behalf_of %v", v)
	}
}

// Arguments and answers are kept only when the provider logs payloads and the tool is not sensitive (core §5.11).
func TestAuditKeepsPayloadsBack(t *testing.T) {
	t.Parallel()
	const canary = "canary-4711"
	for rule, tc := range map[string]struct {
		tool, args, names string
		log               bool
	}{
		"a sensitive tool":                {"card_check", `{"number":"` + canary + `"}`, "number", true},
		"a provider that does not log":    {"price_check", `{"sku":"` + canary + `"}`, "sku", false},
		"sensitive, and does not log":     {"card_check", `{"number":"` + canary + `"}`, "number", false},
		"arguments that the schema fails": {"card_check", `{"number":["` + canary + `"]}`, "", true},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			p := jobtest.ShopProvider()
			p.LogPayload = tc.log
			c.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
			c.Business.Respond(200, `"`+canary+`"`)
			c.invoke(tc.tool, tc.args)
			text, err := json.Marshal(c.Events(c.job.ID, ""))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), canary) || strings.Contains(c.Logs.String(), canary) {
				t.Errorf("the audit or the log shows the value: %s", text)
			}
			if tc.names == "" {
				return
			}
			call, result := c.Events(c.job.ID, "tool_call")[0].Detail, c.Events(c.job.ID, "tool_result")[0].Detail
			if !reflect.DeepEqual(call["args"], []any{tc.names}) || result["resp"] != "<13 bytes>" {
				t.Errorf("args %v, resp %v", call["args"], result["resp"])
			}
		})
	}
}

func TestAuditCutsLongPayloads(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	for _, tc := range []struct {
		rule string
		sku  int // length that makes the arguments this long
		cut  bool
	}{
		{"65536 characters fit", 65_536 - len(`{"sku":""}`), false},
		{"one more does not", 65_537 - len(`{"sku":""}`), true},
	} {
		args := `{"sku":"` + strings.Repeat("x", tc.sku) + `"}`
		c.Business.Respond(200, args)
		c.invoke("price_check", args)
		calls, results := c.Events(c.job.ID, "tool_call"), c.Events(c.job.ID, "tool_result")
		call, result := calls[len(calls)-1].Detail, results[len(results)-1].Detail
		if (call["args_truncated"] == true) != tc.cut || call["args_bytes"] != float64(len(args)) {
			t.Errorf("%s: arguments truncated %v, %v bytes", tc.rule, call["args_truncated"], call["args_bytes"])
		}
		if (result["resp_truncated"] == true) != tc.cut || len(result["resp"].(string)) != 65_536 {
			t.Errorf("%s: answer truncated %v, %d kept", tc.rule, result["resp_truncated"], len(result["resp"].(string)))
		}
	}
}

func TestSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.invoke("order_get", `{"id":"1"}`)
	text, err := json.Marshal(c.Events(c.job.ID, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{jobtest.ProviderSecret, jobtest.APIKey, c.Business.Sent()[0].Header.Get("X-Bailing-Signature")} {
		if strings.Contains(string(text), secret) || strings.Contains(c.Logs.String(), secret) {
			t.Error("a secret or a signature is in the audit or the log")
		}
	}
}
