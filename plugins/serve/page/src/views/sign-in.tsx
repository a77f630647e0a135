import { useState } from 'preact/hooks'

/** The page has no token, or one that the server refuses. */
export function SignIn({ isRefused, onToken }: { isRefused: boolean; onToken: (token: string) => void }) {
  const [token, setToken] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    if (token.trim() !== '') onToken(token.trim())
  }
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>substrat</h1>
        {isRefused && (
          <p role="alert" class="error">
            The server refuses this token. It was replaced or revoked, or is of another home.
          </p>
        )}
        <p>
          Open the link that <code>substrat serve --print-link</code> prints, or paste the token from the file
          that the server named.
        </p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <div class="buttons end">
          <button type="submit" class="primary">
            Open
          </button>
        </div>
      </form>
    </main>
  )
}
