package job_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bailing/shared/job/jobtest"
)

func TestPrincipalIsNormalised(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	roles := strings.Repeat("r", 64)
	cases := []struct {
		rule, metadata, want string
	}{
		{"nobody", `{"a":1}`, ``},
		{"an empty id", `{"principal":{"id":" "}}`, ``},
		{"an object", `{"principal":{"id":"u","tenant":"t","roles":["a","b"],"audience":"staff"}}`,
			`{"id":"u","tenant":"t","roles":["a","b"],"audience":"staff"}`},
		{"id comes before its other names", `{"principal":{"user_id":"b","id":"a"}}`, `{"id":"a","roles":[]}`},
		{"principal comes before subject and operator", `{"operator":{"id":"c"},"subject":{"id":"b"},"principal":{"id":"a"}}`, `{"id":"a","roles":[]}`},
		{"subject comes before operator", `{"operator":{"id":"c"},"subject":{"uid":"b"}}`, `{"id":"b","roles":[]}`},
		{"openid and userid", `{"operator":{"openid":"o"}}`, `{"id":"o","roles":[]}`},
		{"flat members", `{"user_id":"u","org_id":"t","role":"a, b ,,c","user_type":"guest"}`,
			`{"id":"u","tenant":"t","roles":["a","b","c"],"audience":"guest"}`},
		{"a flat principal", `{"principal":"u"}`, `{"id":"u","roles":[]}`},
		{"principal_id comes before principal", `{"principal":"b","principal_id":"a"}`, `{"id":"a","roles":[]}`},
		{"the object comes before flat members", `{"principal_id":"b","subject":{"id":"a"}}`, `{"id":"a","roles":[]}`},
		{"flat members fill what the object leaves out", `{"subject":{"id":"a"},"tenant":"t","roles":["x"]}`, `{"id":"a","tenant":"t","roles":["x"]}`},
		{"visitors and people of a channel", `{"visitor_uid":"v","wecom_userid":"w"}`, `{"id":"w","roles":[]}`},
		{"numbers are ids", `{"uid":12345678901234567890}`, `{"id":"12345678901234567890","roles":[]}`},
		{"white space around is dropped", `{"uid":" u\u00a0"}`, `{"id":"u","roles":[]}`},
		{"ids are cut at 128", `{"uid":"` + strings.Repeat("i", 129) + `"}`, `{"id":"` + strings.Repeat("i", 128) + `","roles":[]}`},
		{"tenants are cut at 128", `{"uid":"u","tenant":"` + strings.Repeat("t", 129) + `"}`, `{"id":"u","tenant":"` + strings.Repeat("t", 128) + `","roles":[]}`},
		{"each role is cut at 64", `{"uid":"u","roles":["` + roles + `x"]}`, `{"id":"u","roles":["` + roles + `"]}`},
		{"the audience is cut at 64", `{"uid":"u","audience":"` + roles + `x"}`, `{"id":"u","roles":[],"audience":"` + roles + `"}`},
		{"kind and type of an object", `{"principal":{"id":"u","kind":"bot","type":"x"}}`, `{"id":"u","roles":[],"audience":"bot"}`},
		{"a client cannot choose its app id", `{"principal":{"id":"u","client_app_id":"somebody"}}`, `{"id":"u","roles":[]}`},
	}
	for i, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			a := w.MustLaunch(token, jobtest.Submission(fmt.Sprint("p", i), `"metadata":`+tc.metadata))
			var stored, sent map[string]any
			decode(t, w.Job(a.JobID).Metadata, &stored)
			decode(t, []byte(tc.metadata), &sent)
			if tc.want != "" {
				var want map[string]any
				decode(t, []byte(tc.want), &want)
				want["client_app_id"] = jobtest.Client
				sent["principal"] = want
			}
			if !reflect.DeepEqual(stored, sent) {
				t.Errorf("stored %v, want %v", stored, sent)
			}
		})
	}
}

func decode(t *testing.T, b []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

func TestMetadataKeepsItsDigitsAndOrder(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	a := w.MustLaunch(token, jobtest.Submission("r", `"metadata":{"z":9007199254740993,"a":"x","uid":"u"}`))
	want := `{"z":9007199254740993,"a":"x","uid":"u","principal":{"id":"u","roles":[],"client_app_id":"acme"}}`
	if got := string(w.Job(a.JobID).Metadata); got != want {
		t.Errorf("metadata %s, want %s", got, want)
	}
}
