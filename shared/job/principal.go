package job

import (
	"bytes"
	"encoding/json"

	"bailing/shared/audience"
	"bailing/shared/canonical"
)

// withPrincipal is metadata with its member "principal" replaced by the normalised one (core §1.3). The others keep their order
// and their digits.
func withPrincipal(metadata canonical.Value, p audience.Principal) (json.RawMessage, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for name, v := range metadata.Members() {
		if name == "principal" {
			continue
		}
		key, err := canonical.FromGo(name)
		if err != nil {
			return nil, err
		}
		b.Write(key.AppendCompact(nil))
		b.WriteByte(':')
		b.Write(v.AppendCompact(nil))
		b.WriteByte(',')
	}
	b.WriteString(`"principal":`)
	b.Write(text)
	b.WriteByte('}')
	return b.Bytes(), nil
}
