/** All that the page shows at a name that the server does not know as its own: contents would be missing everywhere. */
export function HiddenScreen() {
  return (
    <main class="token-screen">
      <div class="panel" role="status">
        <h1 class="empty-title">The server hides its contents at this name</h1>
        <p>
          It does not know <b>{location.hostname}</b> as a name of its own. Start it with{' '}
          <code>--allowed-host {location.hostname}</code>, or open it by its IP address.
        </p>
        <p>
          Behind a proxy that changes the <code>Host</code> header: <code>--trusted-origin {location.origin}</code>.
        </p>
      </div>
    </main>
  )
}
