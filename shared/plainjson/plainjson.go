package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal with texts as they are: <, >, & and the line separators U+2028 and U+2029 stay themselves, except that encoding/json
// writes the separators as escapes in any case.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
