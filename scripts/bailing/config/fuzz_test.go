package config

import (
	"errors"
	"testing"

	"bailing/shared/canonical"
)

// Whatever a file holds, it is read or refused; and what was read is written as YAML and read again as it was.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		changed, `{"version":1,"routes":[{"route_key":"a","tools":{"sources":[]}}]}`, "version: 1\nclients: [{app_id: crm}]", "a: |\n  b\n c: 'd'",
		"version: 1\ntool-providers: [{name: shop, spec_json: {file: x}}]", "- - - x", "? a\n: b", "a: !!float 1", "\ufeffversion: 1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := parseFile([]byte(src), func(string) ([]byte, error) { return nil, errors.New("gone") })
		if err == nil {
			for _, item := range file.Items {
				item.Kind.normal(item.Object)
			}
		}
		v, err := parse([]byte(src))
		if err != nil {
			return
		}
		b, err := writeYAML(v)
		if err != nil {
			return // text that YAML cannot hold
		}
		back, err := parse(append([]byte("# YAML\n"), b...))
		if err != nil || !canonical.Equal(v, back) {
			t.Errorf("%v\n%s\nwas %s\nis  %s", err, b, v.AppendCompact(nil), back.AppendCompact(nil))
		}
	})
}
