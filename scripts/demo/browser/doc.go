// Package browser opens the demo business's consent page in a headless Chromium, as a person would, and looks at what the person sees and
// what the agent receives. It holds tests alone, so that no program links what drives the browser. `make browser` runs them and
// installs what they need; they run where BAILING_BROWSER=required asks for them.
package browser
