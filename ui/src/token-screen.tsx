import { useState } from 'preact/hooks'
import { saveToken } from './token.ts'

/** All that the page shows without its token. @param refusal the server's answer to the token that was typed */
export function TokenScreen({ refusal }: { refusal: string }) {
  const [token, setToken] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    if (token.trim() !== '') saveToken(token.trim())
  }
  return (
    <main class="token-screen">
      <form class="panel" onSubmit={submit}>
        <h1 class="token-title">agent-host</h1>
        <label for="token">Token of the debug UI</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          aria-describedby="token-hint"
          aria-invalid={refusal !== ''}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        {refusal !== '' && (
          <p class="token-refusal" role="alert">
            {refusal}.
          </p>
        )}
        <p id="token-hint">
          Type what the server was started with (<code>--ui-token</code>), or a key with the scope <code>debug</code>.
        </p>
        <button type="submit" class="button primary" disabled={token.trim() === ''}>
          Open
        </button>
      </form>
    </main>
  )
}
