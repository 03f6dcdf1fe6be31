// Package businesstest is the hub as tests of the consent page see it: the few answers of agent §2.2 to §2.5 from memory, and
// answers that a hub should never give. What is judged with it is the page. Nothing but tests imports it.
package businesstest
