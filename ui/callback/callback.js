// Ends a sign-in on another site: hands its answer to the agent that waits for it, once.
const query = location.search.slice(1)
const TOKEN = 'agent-host.token'
const at = (id) => document.getElementById(id)

// The address holds a code that is good for one sign-in.
history.replaceState(null, '', location.pathname)

function say(title, detail = '') {
  at('title').textContent = title
  at('detail').textContent = detail
}

function askForKey(detail) {
  say('This server needs a key', detail)
  at('key').hidden = false
  at('token').focus()
}

/** What the person can do where the server knows no question with this state, as for an agent in a terminal. */
function offerAnswer() {
  say(
    'Give this to the agent',
    'No question waits for it on this server. If an agent still asks elsewhere, paste it there.',
  )
  at('answer').value = query
  at('paste').hidden = false
}

async function send() {
  const token = sessionStorage.getItem(TOKEN) ?? ''
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  let response
  try {
    response = await fetch('/compat/approvals/callback', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: JSON.stringify({ query }),
    })
  } catch {
    return say('The server does not answer', 'Sign in again when it is back.')
  }
  const { detail = '' } = await response.json().catch(() => ({}))
  if (response.ok) {
    const isRefused = new URLSearchParams(query).has('error')
    const title = isRefused ? 'You did not sign in' : 'Done'
    return say(title, 'The agent continues. You can close this window.')
  }
  if (response.status === 401) return askForKey(token === '' ? '' : String(detail))
  if (response.status === 404) return offerAnswer()
  if (response.status === 409) return say('This sign-in has ended', 'The question was answered before.')
  say('This did not work', String(detail))
}

at('key').addEventListener('submit', (event) => {
  event.preventDefault()
  sessionStorage.setItem(TOKEN, at('token').value)
  at('key').hidden = true
  say('Signing in…')
  void send()
})

at('copy').addEventListener('click', async () => {
  at('answer').select()
  await navigator.clipboard?.writeText(query)
  at('copy').textContent = 'Copied'
})

if (new URLSearchParams(query).has('state')) void send()
else say('Nothing to do here', 'Sites send you to this page at the end of a sign-in.')
