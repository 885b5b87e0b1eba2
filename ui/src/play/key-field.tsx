import { useState } from 'preact/hooks'
import { readKey, saveKey } from '../responses/responses-client.ts'

/** Field for the key of the responses adapter, which lasts as long as the window. */
export function KeyField() {
  const [key, setKey] = useState(readKey)
  const change = (value: string) => {
    saveKey(value)
    setKey(value)
  }
  return (
    <label class="field chat-key">
      <span>API key of the responses adapter</span>
      <input
        type="password"
        autocomplete="off"
        value={key}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  )
}
