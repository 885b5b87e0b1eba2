/** Value of `Proxy-Authorization` (RFC 7617); undefined for a proxy that asks for nothing. */
export function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(text).toString('base64')}`
}
