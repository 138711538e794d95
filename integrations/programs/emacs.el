;;; -*- lexical-binding: t -*-
;; What somebody does in Emacs with coldfork's server, and what they see; printed line by line.

(require 'package)
(package-initialize)
(require 'eglot)
(require 'cl-lib)

(setq inhibit-message t
      eglot-sync-connect 120
      eglot-confirm-server-initiated-edits nil
      create-lockfiles nil
      make-backup-files nil)
(add-to-list 'eglot-server-programs `(python-mode . (,(getenv "COLDFORK") "lsp")))

(defun say (&rest words)
  (princ (concat (apply #'format words) "\n")))

(defun wait (holds)
  "Wait until HOLDS returns something, and return that."
  (let ((late (+ (float-time) 120)) found)
    (while (not (or (setq found (funcall holds)) (> (float-time) late)))
      ;; Nobody types here, so Emacs is never idle: what it does then is done by hand.
      (when (eglot-current-server) (eglot--signal-textDocument/didChange))
      (flymake-start)
      (accept-process-output nil 0.05))
    found))

(defun marked ()
  (dolist (one (flymake-diagnostics))
    (say "line %d: %s" (line-number-at-pos (flymake-diagnostic-beg one))
         (car (split-string (flymake-diagnostic-text one) "\n")))))

(say "with eglot %s" (package-version-join (package-desc-version (cadr (assq 'eglot package-alist)))))
(find-file "src/engine/names.py")
(apply #'eglot (eglot--guess-contact))
(say "opened: %s" (if (wait #'flymake-diagnostics) "marked" "nothing is marked"))
(marked)

(undo-boundary)
(cl-letf (((symbol-function 'completing-read)
           (lambda (_prompt offered &rest _)
             (let ((titles (all-completions "" offered)))
               (dolist (one titles) (say "offered: %s" one))
               (car titles)))))
  ;; As from the keyboard: after a click eglot would open a menu.
  (let ((last-nonmenu-event ?a))
    (eglot-code-actions (point-min) (point-max) nil t)))
(say "%s" (string-trim-right (buffer-string)))
(say "mended: %s" (if (wait (lambda () (null (flymake-diagnostics)))) "nothing is marked" "still marked"))

(undo-boundary)
(setq last-command nil)
(undo)
(say "undone: %s" (if (wait #'flymake-diagnostics) "marked" "nothing is marked"))
(marked)

(goto-char (point-min))
(search-forward "name=torch")
(let ((told (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover
                             (eglot--TextDocumentPositionParams))))
  (say "told: %s" (car (split-string (plist-get (plist-get told :contents) :value) "\n"))))

(let* ((server (eglot-current-server))
       (process (jsonrpc--process server)))
  (eglot-shutdown server nil 60)
  (say "stopped: %s" (if (process-live-p process) "no" "the server has ended")))
(set-buffer-modified-p nil)
