/**
 * The address of Ollama's OpenAI-style endpoint. `OLLAMA_HOST` is written for its server: it may lack scheme and port,
 * and name the address to listen on.
 */
export function ollamaAddress(address: string): string {
  const hasScheme = /^https?:\/\//.test(address)
  const full = hasScheme ? address : `http://${address.startsWith(':') ? `127.0.0.1${address}` : address}`
  if (!URL.canParse(full)) throw new Error(`The Ollama address '${address}' in the environment is not a URL.`)
  const url = new URL(full)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  if (!hasScheme && url.port === '') url.port = '11434'
  return `${url.origin}${url.pathname.replace(/\/(v1\/?)?$/, '')}/v1`
}
