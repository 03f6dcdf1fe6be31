package business

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash/maphash"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DemoUser and DemoPassword log in to the consent page; so does "noor" with the same password. They are public, and the demo's alone:
// a password that everybody may read needs no slow hash, only a comparison that tells nothing about it.
const (
	DemoUser     = "dana"
	DemoPassword = "parcels-and-tea"
)

// user is an account of this business.
type user struct {
	login, password string
	ID              string // the subject for whom tools are called
	Display         string
	Tenant          string
	Roles           []string
}

func demoUsers() []user {
	return []user{
		{login: DemoUser, password: DemoPassword, ID: "u_42", Display: "Dana Meier", Tenant: "north", Roles: []string{"customer"}},
		{login: "noor", password: DemoPassword, ID: "u_7", Display: "Noor Haddad", Tenant: "south", Roles: []string{"customer"}},
	}
}

// verify finds the account of a login, in the same time whether it exists or not.
func (p *consent) verify(login, password string) (found user, ok bool) {
	digest := func(s string) []byte {
		mac := hmac.New(sha256.New, p.key[:])
		mac.Write([]byte(s))
		return mac.Sum(nil)
	}
	for _, u := range p.users {
		if hmac.Equal(digest(login+"\n"+password), digest(u.login+"\n"+u.password)) {
			found, ok = u, true
		}
	}
	return found, ok
}

// Life of a session, and how many there may be. The oldest gives way.
const (
	sessionLife = 30 * time.Minute
	maxSessions = 10_000
)

// session is a login. Only the hash of its cookie is kept.
type session struct {
	user user
	ends time.Time
}

type sessions struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]session
}

func newSessions() *sessions { return &sessions{byHash: map[[sha256.Size]byte]session{}} }

// open starts a session under a new cookie and ends the one of the old cookie: what a stranger may have planted is worth nothing.
func (s *sessions) open(u user, old string, now time.Time) (cookie string) {
	cookie = newCookie()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byHash, sha256.Sum256([]byte(old)))
	if len(s.byHash) >= maxSessions {
		s.makeRoom(now)
	}
	s.byHash[sha256.Sum256([]byte(cookie))] = session{u, now.Add(sessionLife)}
	return cookie
}

func (s *sessions) makeRoom(now time.Time) {
	var oldest [sha256.Size]byte
	first := time.Time{}
	for hash, one := range s.byHash {
		if !one.ends.After(now) {
			delete(s.byHash, hash)
		} else if first.IsZero() || one.ends.Before(first) {
			oldest, first = hash, one.ends
		}
	}
	if len(s.byHash) >= maxSessions {
		delete(s.byHash, oldest)
	}
}

func (s *sessions) find(cookie string, now time.Time) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byHash[sha256.Sum256([]byte(cookie))]
	return found, ok && found.ends.After(now)
}

func (s *sessions) end(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byHash, sha256.Sum256([]byte(cookie)))
}

// visitor is a browser: its cookie, "" for none, and who is logged in.
type visitor struct {
	cookie string
	user   user
}

func newCookie() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// cookie is the page's cookie without a value. Behind TLS no other host can plant it; on loopback, where ports share cookies, it goes to this page only.
func (p *consent) cookie() http.Cookie {
	c := http.Cookie{Name: "business_session", Path: "/agent/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if strings.HasPrefix(p.Origin, "https://") {
		c.Name, c.Path, c.Secure = "__Host-business_session", "/", true
	}
	return c
}

func (p *consent) give(w http.ResponseWriter, value string) {
	c := p.cookie()
	c.Value = value
	http.SetCookie(w, &c)
}

// visitor reads the cookie. Two of the same name are none: one of them came from elsewhere.
func (p *consent) visitor(r *http.Request) (who visitor, in bool) {
	cookies := r.CookiesNamed(p.cookie().Name)
	if len(cookies) != 1 || len(cookies[0].Value) != base64.RawURLEncoding.EncodedLen(32) {
		return visitor{}, false
	}
	s, in := p.sessions.find(cookies[0].Value, p.clock.Now())
	return visitor{cookies[0].Value, s.user}, in
}

// anonymous makes sure that a browser has a cookie for the login form. It keeps the one it has: another tab's form may need it.
func (p *consent) anonymous(w http.ResponseWriter, who visitor) visitor {
	if who.cookie == "" {
		who.cookie = newCookie()
		p.give(w, who.cookie)
	}
	return who
}

// login lets a person in and goes back to the request.
func (p *consent) login(w http.ResponseWriter, r *http.Request) {
	if !p.form(w, r) {
		return
	}
	id := strings.ToLower(one(r.PostForm["authorization_id"]))
	if !idPattern.MatchString(id) {
		p.problem(w, unknownRequest, "")
		return
	}
	who, _ := p.visitor(r)
	if !p.genuine(who, loginForm, r) {
		p.problem(w, staleForm, id)
		return
	}
	name, address, now := strings.ToLower(strings.TrimSpace(one(r.PostForm["username"]))), remote(r), p.clock.Now()
	if wait := p.doors.knock(name, address, now); wait > 0 {
		p.log.Warn("too many logins", "address", address)
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		p.loginPage(w, who, id, http.StatusTooManyRequests, "Too many attempts. Wait a quarter of an hour, then try again.")
		return
	}
	u, ok := p.verify(name, one(r.PostForm["password"]))
	if !ok {
		p.log.Warn("login refused", "address", address)
		p.loginPage(w, who, id, http.StatusForbidden, "The name or the password is wrong.")
		return
	}
	p.doors.enter(name, address)
	p.give(w, p.sessions.open(u, who.cookie, now))
	p.log.Info("login", "account", u.ID)
	p.back(w, r, id)
}

// logout ends the session, here and in the browser, and shows the login again.
func (p *consent) logout(w http.ResponseWriter, r *http.Request) {
	if !p.form(w, r) {
		return
	}
	id := strings.ToLower(one(r.PostForm["authorization_id"]))
	who, in := p.visitor(r)
	if in && !p.genuine(who, logoutForm, r) {
		p.problem(w, staleForm, "")
		return
	}
	p.sessions.end(who.cookie)
	c := p.cookie()
	c.MaxAge = -1
	http.SetCookie(w, &c)
	if !idPattern.MatchString(id) {
		p.problem(w, loggedOut, "")
		return
	}
	p.back(w, r, id)
}

// back goes to the request whose id was checked.
func (p *consent) back(w http.ResponseWriter, r *http.Request, id string) {
	p.headers(w)
	http.Redirect(w, r, authorizeURL(id), http.StatusSeeOther)
}

func authorizeURL(id string) string { return AuthorizePath + "?authorization_id=" + id }

func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// How many logins are tried within a window, for one name and from one address. A login that succeeds does not count.
const (
	loginWindow   = 15 * time.Minute
	triesPerName  = 5
	triesPerPlace = 50
)

// doors counts attempts. Names and addresses fall into a fixed number of slots by a hash that nobody knows, so that made-up names
// neither fill the memory nor tell which names exist; sharing a slot makes a limit tighter, never wider.
type doors struct {
	mu            sync.Mutex
	seed          maphash.Seed
	names, places [4096]slot
}

type slot struct {
	tries int
	ends  time.Time
}

func newDoors() *doors { return &doors{seed: maphash.MakeSeed()} }

func (d *doors) slots(name, address string) (byName, byPlace *slot) {
	at := func(s string) uint64 { return maphash.String(d.seed, s) % uint64(len(d.names)) }
	return &d.names[at(name)], &d.places[at(address)]
}

// knock counts an attempt before it is judged, so that parallel ones cannot all slip through. It returns how long to wait if
// the attempt may not be made.
func (d *doors) knock(name, address string, now time.Time) (wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	byName, byPlace := d.slots(name, address)
	for _, s := range []*slot{byName, byPlace} {
		if !s.ends.After(now) {
			*s = slot{ends: now.Add(loginWindow)}
		}
	}
	if byName.tries >= triesPerName {
		wait = byName.ends.Sub(now)
	}
	if byPlace.tries >= triesPerPlace {
		wait = max(wait, byPlace.ends.Sub(now))
	}
	if wait == 0 {
		byName.tries++
		byPlace.tries++
	}
	return wait
}

// enter forgets the attempts of a name that logged in.
func (d *doors) enter(name, address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	byName, byPlace := d.slots(name, address)
	byName.tries = 0
	byPlace.tries = max(byPlace.tries-1, 0)
}
