import { Dialog } from '../parts/dialog.js'
import { useStore } from '../state/store.js'
import { areKeysOn, SHORTCUTS, switchKeys } from './shortcuts.js'

export function Help({ onClose }: { onClose: () => void }) {
  const isOn = useStore(areKeysOn)
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {SHORTCUTS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={isOn} onChange={(event) => switchKeys(event.currentTarget.checked)} />
        Keys without Ctrl work everywhere on the page
      </label>
      <div class="buttons end">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
