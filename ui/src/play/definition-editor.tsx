import type { CheckedVariant } from './use-variant.ts'

interface DefinitionEditorProps {
  readonly text: string
  readonly checked: CheckedVariant
  readonly onText: (text: string) => void
}

/** The definition of an agent as text. What a variant may not change is refused at its line. */
export function DefinitionEditor({ text, checked: { problems }, onText }: DefinitionEditorProps) {
  return (
    <div class="definition-editor">
      <textarea
        class="code"
        aria-label="Definition"
        spellcheck={false}
        wrap="off"
        rows={20}
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      {problems.length > 0 && (
        <ul class="bad-text" role="alert" aria-label="Problems">
          {problems.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              {line === undefined ? '' : `Line ${line}: `}
              {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
