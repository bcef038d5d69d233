//! Evaluates Terragrunt expressions over the files of a scan: locals, includes, other configurations that are read.
//! Functions stand in [`super::functions`]. Nothing is run and no file is opened.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hcl_edit::expr::{
    BinaryOperator, Expression, FuncCall, Object, ObjectKey, Traversal, TraversalOperator, UnaryOperator,
};
use hcl_edit::template::{Element, StringTemplate, Strip};

use super::OF_ANOTHER;
use super::context::Context;
use super::paths::{self, Root};
use super::value::Val;
use crate::repo::facts::TerragruntFacts;
use crate::repo::secret::is_secret_name;
use crate::repo::syntax::expression;

/// Evaluation recurses through expressions, locals and files; this many levels are enough for any real one.
const MAX_LEVELS: usize = 90;

/// A local larger than this (bytes of text and members) is no setting; locals that double each other end here.
const MAX_SIZE: usize = 16 * 1024;

/// A parsed expression, shared by all units that see it.
type Parsed = Rc<Result<Expression, String>>;

/// Evaluates expressions; keeps what many units share.
pub(super) struct Evaluator<'a> {
    /// Every Terragrunt file by its absolute path.
    pub(super) files: HashMap<String, &'a TerragruntFacts>,
    /// Where the tree hangs.
    pub(super) root: Root,
    parsed: HashMap<String, Parsed>,
    /// Locals of files that are read for themselves: the same for every unit.
    shared: HashMap<(String, String), Val>,
    /// Locals of the unit and of its parents: forgotten with the unit.
    own: HashMap<(String, String, String), Val>,
    /// Locals whose value is being found: a local that needs itself has none.
    open: Vec<(String, String, String)>,
    levels: usize,
    /// Whether `shared` may outlive a unit: not when some file asks for the unit that reads it.
    keeps: bool,
    /// References and functions of the expression itself, in order.
    via: Vec<String>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(root: Root, files: HashMap<String, &'a TerragruntFacts>) -> Self {
        let keeps = !files
            .values()
            .flat_map(|facts| &facts.locals)
            .any(|(_, expression)| expression.contains("get_original_terragrunt_dir"));
        Self {
            files,
            root,
            parsed: HashMap::new(),
            shared: HashMap::new(),
            own: HashMap::new(),
            open: Vec::new(),
            levels: 0,
            keeps,
            via: Vec::new(),
        }
    }

    /// Forgets what held for the last unit only.
    pub(super) fn next_unit(&mut self) {
        self.own.clear();
        if !self.keeps {
            self.shared.clear();
        }
    }

    /// What an expression's text is worth, and the references and functions in it that were followed.
    pub(super) fn text(&mut self, text: &str, context: &Rc<Context>) -> (Val, Vec<String>) {
        self.via.clear();
        self.open.clear();
        self.levels = 0;
        let value = self.parse_and_reduce(text, context);
        (value, std::mem::take(&mut self.via))
    }

    pub(super) fn parse_and_reduce(&mut self, text: &str, context: &Rc<Context>) -> Val {
        let parsed = match self.parsed.get(text) {
            Some(parsed) => parsed.clone(),
            None => {
                let parsed = Rc::new(parse(text));
                self.parsed.insert(text.to_owned(), parsed.clone());
                parsed
            }
        };
        match parsed.as_ref() {
            Ok(expression) => self.reduce(expression, context),
            Err(reason) => Val::unknown(reason.clone()),
        }
    }

    /// What an expression is worth.
    pub(super) fn reduce(&mut self, from: &Expression, context: &Rc<Context>) -> Val {
        if self.levels >= MAX_LEVELS {
            return Val::unknown("it refers through too many levels");
        }
        self.levels += 1;
        let value = self.reduce_inner(from, context);
        self.levels -= 1;
        value
    }

    fn reduce_inner(&mut self, from: &Expression, context: &Rc<Context>) -> Val {
        match from {
            Expression::Null(_) => Val::Null,
            Expression::Bool(value) => Val::Bool(*value.value()),
            Expression::Number(value) => Val::Number(value.value().to_string()),
            Expression::String(value) => Val::Text(value.value().to_string()),
            Expression::Parenthesis(inner) => self.reduce(inner.inner(), context),
            Expression::Array(items) => {
                Val::List(items.iter().map(|item| self.reduce(item, context)).collect())
            }
            Expression::Object(object) => self.object(object, context),
            Expression::StringTemplate(template) => self.template(template, context),
            Expression::Conditional(choice) => match self.reduce(&choice.cond_expr, context) {
                Val::Bool(true) => self.reduce(&choice.true_expr, context),
                Val::Bool(false) => self.reduce(&choice.false_expr, context),
                Val::Unknown(reason) => Val::unknown(format!("the condition can't be told: {reason}")),
                _ => Val::unknown("the condition can't be told"),
            },
            Expression::UnaryOp(operation) if *operation.operator.value() == UnaryOperator::Not => {
                match self.reduce(&operation.expr, context) {
                    Val::Bool(value) => Val::Bool(!value),
                    Val::Unknown(reason) => Val::Unknown(reason),
                    _ => Val::unknown("`!` of something that is no boolean"),
                }
            }
            Expression::BinaryOp(operation) => {
                let left = self.reduce(&operation.lhs_expr, context);
                let right = self.reduce(&operation.rhs_expr, context);
                compare(*operation.operator.value(), &left, &right)
            }
            Expression::Traversal(traversal) => self.traversal(traversal, context),
            Expression::FuncCall(call) => self.call(call, context),
            Expression::Variable(name) => match name.as_str() {
                "local" => Val::Locals(context.clone()),
                "include" => self.include(None, context),
                other => Val::unknown(format!("only a run can tell `{other}`")),
            },
            _ => Val::unknown("only a run can tell"),
        }
    }

    fn call(&mut self, call: &FuncCall, context: &Rc<Context>) -> Val {
        let name = call.name.name.as_str();
        if call.name.is_namespaced() {
            return Val::unknown(format!("only a run can tell what `{name}(…)` gives"));
        }
        self.follow(format!("{name}()"));
        let mut arguments: Vec<Val> =
            call.args.iter().map(|argument| self.reduce(argument, context)).collect();
        if call.args.expand_final() {
            match arguments.pop() {
                Some(Val::List(items)) => arguments.extend(items),
                _ => return Val::unknown(format!("the last argument of `{name}(…)` can't be told")),
            }
        }
        self.function(name, &arguments, context)
    }

    /// Notes a reference of the expression itself, not of the locals behind it.
    fn follow(&mut self, reference: String) {
        if self.open.is_empty() && !self.via.contains(&reference) {
            self.via.push(reference);
        }
    }

    fn object(&mut self, object: &Object, context: &Rc<Context>) -> Val {
        let mut items = BTreeMap::new();
        for (key, value) in object.iter() {
            let name = match key {
                ObjectKey::Ident(name) => name.as_str().to_owned(),
                ObjectKey::Expression(Expression::Variable(name)) => name.as_str().to_owned(),
                ObjectKey::Expression(expression) => match self.reduce(expression, context).text() {
                    Ok(name) => name,
                    Err(reason) => return Val::unknown(format!("a key can't be told: {reason}")),
                },
            };
            let value = self.reduce(value.expr(), context);
            items.insert(name, value);
        }
        Val::Object(items)
    }

    fn template(&mut self, template: &StringTemplate, context: &Rc<Context>) -> Val {
        // `"${x}"` alone is x itself, whatever its type. Source: HCL specification, "Template Unwrapping".
        if let Some(Element::Interpolation(only)) = template.as_single_element()
            && only.strip == Strip::None
        {
            return self.reduce(&only.expr, context);
        }
        let mut out = String::new();
        for element in template.iter() {
            match element {
                Element::Literal(text) => out.push_str(text.value()),
                Element::Interpolation(part) if part.strip == Strip::None => {
                    match self.reduce(&part.expr, context).text() {
                        Ok(text) => out.push_str(&text),
                        Err(reason) => return Val::Unknown(reason),
                    }
                }
                _ => return Val::unknown("only a run can tell what a template directive gives"),
            }
        }
        Val::Text(out)
    }

    fn traversal(&mut self, traversal: &Traversal, context: &Rc<Context>) -> Val {
        let mut operators = traversal.operators.iter();
        let mut value = match &traversal.expr {
            Expression::Variable(name) if name.as_str() == "include" => {
                let first = traversal.operators.first().map(|operator| operator.value());
                let label = match first {
                    Some(TraversalOperator::GetAttr(label)) => Some(label.as_str()),
                    _ => None,
                };
                if context.includes.iter().any(|(name, _)| Some(name.as_str()) == label) {
                    operators.next();
                    self.include(label, context)
                } else {
                    self.include(None, context)
                }
            }
            other => self.reduce(other, context),
        };
        if let Some(name) = expression::reference_name(&Expression::from(traversal.clone())) {
            self.follow(name);
        }
        for operator in operators {
            value = match operator.value() {
                TraversalOperator::GetAttr(name) => self.member(value, name.as_str()),
                TraversalOperator::Index(index) => match self.reduce(index, context).text() {
                    Ok(index) => self.member(value, &index),
                    Err(reason) => Val::Unknown(reason),
                },
                TraversalOperator::LegacyIndex(index) => self.member(value, &index.value().to_string()),
                _ => Val::unknown("only a run can tell what a splat gives"),
            };
        }
        value
    }

    /// An exposed include: the included file's configuration, seen by this unit.
    fn include(&mut self, label: Option<&str>, context: &Rc<Context>) -> Val {
        let label = label.unwrap_or_default();
        match context.includes.iter().find(|(name, _)| name == label) {
            Some((_, file)) => Val::Config(Rc::new(context.included(file))),
            None => Val::unknown("the include can't be told"),
        }
    }

    /// One attribute or element of a value.
    pub(super) fn member(&mut self, of: Val, name: &str) -> Val {
        // What stands under such a name is neither resolved nor shown.
        if is_secret_name(name) {
            return Val::unknown(format!("`{name}` names a secret: it is not looked up"));
        }
        match of {
            Val::Object(mut items) => {
                items.remove(name).unwrap_or_else(|| Val::unknown(format!("there is no `{name}` in it")))
            }
            Val::List(items) => match name.parse::<usize>().ok().and_then(|at| items.into_iter().nth(at)) {
                Some(item) => item,
                None => Val::unknown(format!("there is no element {name}")),
            },
            Val::Config(file) => match name {
                "locals" => Val::Locals(file),
                "inputs" => self.inputs(&file),
                other => Val::unknown(format!("only a run can tell `{other}` {OF_ANOTHER}")),
            },
            Val::Locals(file) => self.local(&file, name),
            Val::Unknown(reason) => Val::Unknown(reason),
            _ => Val::unknown(format!("it has no `{name}`")),
        }
    }

    fn inputs(&mut self, file: &Rc<Context>) -> Val {
        let facts = self.files.get(&file.file).copied();
        match facts.and_then(|facts| facts.inputs.as_deref()) {
            Some(_) if !file.includes.is_empty() => Val::unknown("its inputs are merged with its parents'"),
            Some(expression) => self.parse_and_reduce(expression, file),
            None => Val::unknown("it has no inputs"),
        }
    }

    /// All locals of a file, each for itself: one that can't be told does not spoil the others.
    pub(super) fn all_locals(&mut self, file: &Rc<Context>) -> Val {
        let Some(facts) = self.files.get(&file.file).copied() else {
            return Val::unknown("the file was not read");
        };
        let names: Vec<&str> = facts.locals.iter().map(|(name, _)| name.as_str()).collect();
        Val::Object(names.into_iter().map(|name| (name.to_owned(), self.local(file, name))).collect())
    }

    fn local(&mut self, file: &Rc<Context>, name: &str) -> Val {
        let reads_itself = file.config == file.file && file.original.is_none() && file.file != file.unit;
        let shared = (file.file.clone(), name.to_owned());
        let own = (file.config.clone(), file.file.clone(), name.to_owned());
        let known = if reads_itself { self.shared.get(&shared) } else { self.own.get(&own) };
        if let Some(value) = known {
            return value.clone();
        }
        if self.open.contains(&own) {
            return Val::unknown(format!("`local.{name}` refers to itself"));
        }
        let facts = self.files.get(&file.file).copied();
        let found = facts.and_then(|facts| facts.locals.iter().rev().find(|(local, _)| local == name));
        let Some((_, expression)) = found else {
            return Val::unknown(format!("there is no `local.{name}`"));
        };
        self.open.push(own.clone());
        let value = match self.parse_and_reduce(expression, file) {
            Val::Unknown(reason) => Val::unknown(format!("`local.{name}`: {reason}")),
            value if value.size() > MAX_SIZE => Val::unknown(format!("`local.{name}` is too large")),
            value => value,
        };
        self.open.pop();
        if reads_itself {
            self.shared.insert(shared, value.clone());
        } else {
            self.own.insert(own, value.clone());
        }
        value
    }

    /// A file that is read for itself, with its own includes.
    pub(super) fn context_of(&mut self, file: &str, unit: &str) -> Rc<Context> {
        let mut context = Context::of(file, unit);
        let facts = self.files.get(file).copied();
        let bare = Rc::new(context.clone());
        for include in facts.iter().flat_map(|facts| &facts.includes) {
            if let Ok(path) = self.include_path(&include.path, &bare) {
                context.includes.push((include.label.clone(), path));
            }
        }
        Rc::new(context)
    }

    /// Where an include's path expression leads; it need not be a file of the scan.
    pub(super) fn include_path(&mut self, expression: &str, context: &Rc<Context>) -> Result<String, String> {
        let path = self.parse_and_reduce(expression, context).text()?;
        Ok(paths::join(&paths::dirname(&context.config), &path))
    }
}

/// An expression, or the inside of a heredoc's bare `${…}`.
fn parse(text: &str) -> Result<Expression, String> {
    let text = text.trim();
    if !text.starts_with("${") {
        return expression::parse(text);
    }
    // `use_lockfile = ${local.x}`: the heredoc is the template, the value is what it prints.
    let quoted = format!("\"{text}\"");
    if text.contains(['\n', '\r']) {
        Err("only a run can tell".to_owned())
    } else {
        expression::parse(&quoted)
    }
}

fn compare(operator: BinaryOperator, left: &Val, right: &Val) -> Val {
    let unknown = [left, right].into_iter().find_map(|side| match side {
        Val::Unknown(reason) => Some(reason.clone()),
        _ => None,
    });
    match (operator, left, right) {
        (BinaryOperator::And, Val::Bool(left), Val::Bool(right)) => Val::Bool(*left && *right),
        (BinaryOperator::Or, Val::Bool(left), Val::Bool(right)) => Val::Bool(*left || *right),
        (BinaryOperator::Eq | BinaryOperator::NotEq, _, _) if unknown.is_none() => {
            let equal = match (left, right) {
                (Val::Null, Val::Null) => true,
                (Val::Bool(left), Val::Bool(right)) => left == right,
                (Val::Text(left), Val::Text(right)) | (Val::Number(left), Val::Number(right)) => {
                    left == right
                }
                (Val::Null, Val::Text(_) | Val::Bool(_) | Val::Number(_))
                | (Val::Text(_) | Val::Bool(_) | Val::Number(_), Val::Null) => false,
                _ => return Val::unknown("only a run can compare these"),
            };
            Val::Bool(equal == (operator == BinaryOperator::Eq))
        }
        _ => Val::unknown(unknown.unwrap_or_else(|| "only a run can tell".to_owned())),
    }
}
